"""What this machine can do at most, by kernels that svod generates: the yardstick of every case.

Arithmetic: chains of multiply-adds in registers (`cargo bench --bench tile`), or where there is no
cargo the fastest of some matrix products. Memory: the best of a copy and a triad, and a sum, of
arrays far larger than the caches. Run as a script in a process of its own, it prints the rates of
memory and products.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cases import Case

ROOT = Path(__file__).parents[1]
LARGE = 1 << 26
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Limits:
    """FLOP/s in f32, and bytes/s where results are written and where they are few; 0 where unknown."""

    flops: float
    source: str
    copy: float
    read: float
    cache: int

    def seconds(self, case: Case) -> float | None:
        """No program can be faster; None where neither bound applies, as the operands stay in cache."""
        flops = self.flops / 2 if case.doubles else self.flops
        bounds = [case.flops / flops] if flops and case.flops else []
        total = case.reads + case.writes
        rate = self.copy if case.writes > case.reads / 16 else self.read
        if rate and total > self.cache:
            bounds.append(total / rate)
        return max(bounds, default=None)

    def or_better(self, other: Limits) -> Limits:
        """The greater of both measurements of each rate: a machine that others use can only seem slower than it is."""
        most = {rate: max(getattr(self, rate), getattr(other, rate)) for rate in ("flops", "copy", "read")}
        return replace(self, **most)

    def __str__(self) -> str:
        return (
            f"Limits, measured in this run: {self.flops / 1e9:.0f} GFLOP/s ({self.source}), "
            f"{self.copy / 1e9:.1f} GB/s read and written, {self.read / 1e9:.1f} GB/s read."
        )


def last_level_cache() -> int:
    """Bytes of the largest cache; 0 where the system does not tell."""
    sizes = [path.read_text().strip() for path in CACHES.glob("index*/size")]
    units = {"K": 1 << 10, "M": 1 << 20}
    return max((int(size[:-1]) * units.get(size[-1], 1) for size in sizes), default=0)


def peak(cores: Sequence[int]) -> float | None:
    """FLOP/s of multiply-adds in registers."""
    if shutil.which("cargo") is None:
        return None
    command = ["cargo", "bench", "--quiet", "-p", "svod-codegen", "--bench", "tile"]
    # Built first, on all cores.
    print("building the bench of the peak (cargo bench -p svod-codegen --bench tile)", file=sys.stderr, flush=True)
    if subprocess.run([*command, "--no-run"], cwd=ROOT, capture_output=True).returncode != 0:
        return None
    run = subprocess.run(
        [*command, "--", "--peak", str(len(cores))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    return float(run.stdout) * 1e9 if run.returncode == 0 else None


def measure(cores: Sequence[int]) -> Limits:
    """The limits on these cores."""
    run = subprocess.run(
        [sys.executable, __file__],
        capture_output=True,
        text=True,
        env=os.environ | {"SVOD_THREADS": str(len(cores))},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    rates = json.loads(run.stdout) if run.returncode == 0 else {"copy": 0, "read": 0, "products": 0}
    flops = peak(cores)
    source = "multiply-adds in registers"
    if flops is None:
        flops, source = rates["products"], "the fastest of some matrix products"
    return Limits(flops, source, rates["copy"], rates["read"], last_level_cache())


def main() -> None:
    import numpy as np
    from worker import timed

    import svod

    def best(result: svod.Tensor, *inputs: svod.Tensor) -> float:
        return timed(result.prepare(inputs=list(inputs)).execute, 1.0)["best"]

    x, y = (svod.Tensor(np.ones(LARGE, np.float32)) for _ in range(2))
    moved = {8: best(x + 1.0, x), 12: best(x * 0.5 + y, x, y)}
    products = []
    for m, k, n in ((768, 512, 768), (1024, 1024, 1024), (2048, 512, 2048)):
        a, b = (svod.Tensor(np.ones(shape, np.float32)) for shape in ((m, k), (k, n)))
        products.append(2 * m * k * n / best(a @ b, a))
    rates = {
        "copy": max(bytes_of_element * LARGE / seconds for bytes_of_element, seconds in moved.items()),
        "read": 4 * LARGE / min(best(x.sum(), x), best(x.max(), x)),
        "products": max(products),
    }
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
