"""The systems of the comparison: which module runs each, and what it needs beside it.

Adding one: a module with `Ops` (how it spells the operations) and a function that maps a `Job` to
`Ready`, and a row below.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class System:
    """`module` and `function` set a job up; `packages` are imported before the clock starts.

    `environment` maps a folder for what the system keeps on disk, and the number of threads, to
    variables; `keeps` says whether it keeps compiled code from one process to the next.
    """

    name: str
    module: str
    packages: Sequence[str]
    function: str = "ready"
    environment: Callable[[Path, int], dict[str, str]] = lambda cache, threads: {}
    keeps: bool = False
    tools: Callable[[], str | None] = lambda: None

    def missing(self) -> str | None:
        """Why the system cannot take part on this machine."""
        absent = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if absent:
            return f"{', '.join(absent)}: not installed"
        return self.tools()


def clang() -> str | None:
    """The compiler that tinygrad calls."""
    found = [name for name in (os.environ.get("CC"), "clang", "clang-19") if name and shutil.which(name)]
    return next((name for name in found if "clang" in name), None)


SYSTEMS = {
    system.name: system
    for system in (
        System(
            "svod",
            "systems.svod",
            ("svod",),
            environment=lambda cache, threads: {"SVOD_CACHE_DIR": str(cache), "SVOD_THREADS": str(threads)},
            keeps=True,
        ),
        System(
            "svod-fresh",
            "systems.svod",
            ("svod",),
            function="fresh",
            environment=lambda cache, threads: {"SVOD_CACHE_DIR": str(cache), "SVOD_THREADS": str(threads)},
            keeps=True,
        ),
        System("numpy", "systems.numpy", ("numpy",)),
        System("torch", "systems.torch", ("torch",)),
        System(
            "torch.compile",
            "systems.torch",
            ("torch",),
            function="compiled",
            environment=lambda cache, threads: {"TORCHINDUCTOR_CACHE_DIR": str(cache)},
            keeps=True,
        ),
        # Its pool has a thread for each core that the process may use.
        System(
            "jax",
            "systems.jax",
            ("jax",),
            environment=lambda cache, threads: {
                "JAX_PLATFORMS": "cpu",
                **({"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"} if threads == 1 else {}),
            },
        ),
        System("onnxruntime", "systems.onnxruntime", ("onnxruntime", "onnx")),
        System(
            "tinygrad",
            "systems.tinygrad",
            ("tinygrad",),
            environment=lambda cache, threads: {
                "CACHEDB": str(cache / "tinygrad.db"),
                "NUM_CPU_THREADS": str(threads),
                "DEV": "CPU",
                "CC": clang() or "clang",
            },
            keeps=True,
            tools=lambda: None if clang() else "the program clang: not installed",
        ),
    )
}
OURS = ("svod", "svod-fresh")
