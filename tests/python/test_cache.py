"""The on-disk cache when things go wrong: the program runs right, says so once, and loses nothing (contract row C6)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# Several kernels, each compiled by itself, and what they have to give.
PROGRAM = """
import numpy as np, svod
x = np.arange(1000, dtype=np.float32)
for n in (2, 3, 4):
    t = svod.Tensor(x)
    assert np.array_equal((t * n).numpy(), x * n)
    assert np.array_equal(t.reshape(10, 100).sum(n - 4).numpy(), x.reshape(10, 100).sum(n - 4))
    assert (t.reshape(20, 50).softmax(1).sum(1).numpy() - 1 < 1e-5).all()
print("right")
"""

# Before the cache is opened, at the first use: what runs as root may write anywhere.
AS_NOBODY = "import os, svod, numpy\nif os.geteuid() == 0: os.seteuid(65534)\n"
# What a full disk does: no file may grow.
FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"


def start(program: str, **variables: str | None) -> subprocess.Popen[str]:
    env = {key: value for key, value in (os.environ | variables).items() if value is not None}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", program], env=env, stdout=pipe, stderr=pipe, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """The messages of a program that ran right."""
    out, messages = process.communicate()
    assert (out, process.returncode) == ("right\n", 0), messages
    return messages


def said(messages: str) -> int:
    return sum(line.startswith("svod:") for line in messages.splitlines())


def run(folder: Path | str, program: str = PROGRAM) -> str:
    return finish(start(program, SVOD_CACHE_DIR=str(folder)))


def entries(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "code").iterdir()}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that two programs have filled at the same time."""
    folder = tmp_path_factory.mktemp("cache") / "new"
    both = [start(PROGRAM, SVOD_CACHE_DIR=str(folder)) for _ in range(2)]
    assert [finish(process) for process in both] == ["", ""]
    return folder


def test_c6_two_processes_write_at_once(filled: Path) -> None:
    before = entries(filled)
    assert len(before) >= 3 and not any(name.startswith("draft") for name in before)
    assert run(filled) == "" and entries(filled) == before


def test_c6_truncated_and_foreign_entries_are_made_anew(filled: Path) -> None:
    before = entries(filled)
    first, second, *others = sorted(before)
    (filled / "code" / first).write_bytes(before[first][: len(before[first]) // 2])
    (filled / "code" / second).write_bytes(b"svodobj0" + before[second][8:])
    # Of another version: under a name that this one never asks for.
    (filled / "code" / ("0" * 64)).write_bytes(before[others[0]])
    messages = run(filled)
    assert said(messages) == 1 and "damaged" in messages
    after = entries(filled)
    assert after.pop("0" * 64) == before[others[0]] and after.keys() == before.keys()
    assert run(filled) == ""
    (filled / "code" / ("0" * 64)).unlink()


def test_c6_a_read_only_folder_serves_what_it_has(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "code"
    folder.mkdir(parents=True)
    kept = entries(filled)
    missing = kept.popitem()[0]
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, 65534, -1)
        for path in folder.parents:
            if Path(tempfile.gettempdir()) in path.parents:
                path.chmod(path.stat().st_mode | 0o011)
    folder.chmod(0o500)
    try:
        messages = run(folder.parent, AS_NOBODY + PROGRAM)
        assert said(messages) == 1 and "cannot write" in messages
        assert {path.name for path in folder.iterdir()} == kept.keys() and missing not in kept
    finally:
        folder.chmod(0o700)


def test_c6_a_full_disk_costs_compilations_only(tmp_path: Path) -> None:
    messages = run(tmp_path / "cache", FULL + PROGRAM)
    assert said(messages) == 1 and "cannot write" in messages
    assert entries(tmp_path / "cache") == {}


def test_c6_no_folder_for_the_cache(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    messages = run(file)
    assert said(messages) == 1 and str(file) in messages
    assert file.read_text() == "not a folder"
    nowhere = {"SVOD_CACHE_DIR": None, "XDG_CACHE_HOME": None}
    for home in (None, "", str(file)):
        messages = finish(start(PROGRAM, **nowhere, HOME=home))
        assert said(messages) == 1 and "cache" in messages


# A graph of some hundred operations, whose passes are told of.
LARGE = """
import numpy as np, svod
n = svod.Variable("n", 1, 64)
w = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32) / 4
def layers(x):
    for i in range(40):
        x = (x @ svod.Tensor(w)).tanh() + svod.Tensor(np.float32(i)) * 0.5 + x.softmax(-1)
    return x
x = svod.empty(n, 8)
plan = layers(x).prepare(inputs=[x])
for rows in (3, 64):
    a = np.ones((rows, 8), np.float32)
    plan.execute(a)
    v = a.astype(np.float64)
    for i in range(40):
        e = np.exp(v - v.max(-1, keepdims=True))
        v = np.tanh(v @ w) + i * 0.5 + e / e.sum(-1, keepdims=True)
    np.testing.assert_allclose(plan.outputs[0].numpy(), v, rtol=1e-4, atol=1e-4)
print("right")
"""


def test_c6_another_process_does_not_schedule_a_graph_again(tmp_path: Path) -> None:
    def passes() -> str:
        return finish(start(LARGE, SVOD_CACHE_DIR=str(tmp_path), SVOD_DEBUG="1"))

    assert "rangeify" in passes()
    assert "rangeify" not in passes()
    (entry,) = (tmp_path / "schedules").iterdir()
    entry.write_bytes(entry.read_bytes()[:100])
    assert "rangeify" in passes() and "rangeify" not in passes()
    # Another graph has another schedule.
    other = LARGE.replace("range(40)", "range(41)")
    assert "rangeify" in finish(start(other, SVOD_CACHE_DIR=str(tmp_path), SVOD_DEBUG="1"))
