"""What mkdocs calls while it builds the site: adds the pages that are made, and those of the repository's root."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from pages import operations, reference  # noqa: E402

# Files beside `docs` that are pages of the site too.
BESIDE = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    made = operations.pages() | reference.pages()
    for path in BESIDE:
        made[BESIDE[path]] = (ROOT / path).read_text()
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of files of the root lead to pages; what is no page of the site stays as text."""
    if page.file.src_uri not in BESIDE.values():
        return markdown

    def led(link: re.Match[str]) -> str:
        text, target = link.groups()
        to = BESIDE.get(target, target.removeprefix("docs/"))
        return f"[{text}]({to})" if files.get_file_from_path(to) else text

    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)([^)]*)\)", led, markdown)
