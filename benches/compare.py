#!/usr/bin/env python3
"""svod beside its peers: the same computation, each system in a process of its own.

The systems of a case take turns (A B C A B C …), one computing at a time, on the same
number of threads. A cell is the best time over all rounds, the ratio is svod's best over
the best peer's. Operands are given anew, weights are constants; svod's results are the
plan's own. The first call counts from after the imports, caches on disk empty (cold) or
filled by the same program before (warm); "process" counts from the start of Python.

    python benches/compare.py [--only svod,torch] [--cases minilm] [--rounds 3] [--output FILE.md]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, Case
from worker import SYSTEMS

# Where each system keeps compiled code, so that a cold start is cold.
CACHES = {
    "svod": ("SVOD_CACHE_DIR", "svod"),
    "torch.compile": ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
    "tinygrad": ("CACHEDB", "tinygrad.db"),
}
# Programs that a system calls to compile.
TOOLS = {"tinygrad": "clang"}
THREAD_VARIABLES = ("SVOD_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
TOLERANCE = 2e-3


class WorkerError(Exception):
    """A system could not compute a case; the text is its last line of error output."""


class Worker:
    """A system's process; between its turns it waits for a line on its standard input."""

    def __init__(self, system: str, case: Case, cores: Sequence[int], cache: Path) -> None:
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(len(cores)))
        if system in CACHES:
            variable, name = CACHES[system]
            environment[variable] = str(cache / name)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (close() closes it)
        start = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), system, case.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        try:
            self.start: dict[str, Any] = self._answer()
        except BaseException:
            self.close()
            raise
        self.start["process"] = time.perf_counter() - start

    def measure(self, seconds: float) -> dict[str, float]:
        assert self._process.stdin is not None
        print(seconds, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        status = self._process.wait()
        if status < 0:
            raise WorkerError(f"ended by {signal.Signals(-status).name}")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise WorkerError(lines[-1] if lines else f"ended with status {status}")

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._errors.close()


@dataclass
class Row:
    """One system's figures for one case; seconds."""

    start: dict[str, Any]
    rounds: list[dict[str, float]] = field(default_factory=list)
    warm: float | None = None

    @property
    def best(self) -> float:
        return min(r["best"] for r in self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(r["median"] for r in self.rounds)


def measure(case: Case, systems: Iterable[str], options: argparse.Namespace) -> tuple[dict[str, Row], dict[str, str]]:
    """Figures of the systems that computed the case, and what went wrong in the others."""
    rows: dict[str, Row] = {}
    failures: dict[str, str] = {}
    workers: dict[str, Worker] = {}
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    with tempfile.TemporaryDirectory(prefix="svod-compare-") as folder:
        cache = Path(folder)

        def attempt(system: str, action: Any) -> None:
            """Runs one system's turn after a pause, in which the last one's threads fall asleep."""
            time.sleep(0.3)
            try:
                action()
            except WorkerError as error:
                failures[system] = str(error)
                rows.pop(system, None)
                if system in workers:
                    workers.pop(system).close()

        def begin(system: str) -> None:
            workers[system] = Worker(system, case, cores, cache)
            rows[system] = Row(workers[system].start)

        def restart(system: str) -> None:
            again = Worker(system, case, cores, cache)
            rows[system].warm = again.start["first"]
            again.close()

        try:
            for system in systems:
                attempt(system, lambda system=system: begin(system))
            for _ in range(options.rounds):
                for system in list(workers):
                    attempt(
                        system,
                        lambda system=system: rows[system].rounds.append(workers[system].measure(options.seconds)),
                    )
        finally:
            for worker in workers.values():
                worker.close()
        for system in [system for system in rows if system in CACHES]:
            attempt(system, lambda system=system: restart(system))
    return rows, failures


def disagreement(rows: dict[str, Row]) -> list[str]:
    """Systems whose result is not the median system's, relative to the largest value."""
    samples = {system: np.array(row.start["sample"]) for system, row in rows.items()}
    middle = np.median(np.stack(list(samples.values())), axis=0)
    scale = np.abs(middle).max()
    return [system for system, sample in samples.items() if not np.abs(sample - middle).max() <= TOLERANCE * scale]


def report(case: Case, rows: dict[str, Row], failures: dict[str, str]) -> tuple[str, float | None]:
    """One case as a Markdown table, and svod's best time over the best peer's."""
    lines = [
        f"### {case.name}",
        "",
        "| system | best ms | median ms | rate | first call ms, cold | warm | process s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for system, row in sorted(rows.items(), key=lambda item: item[1].best):
        rate = f"{case.flops / row.best / 1e9:.0f} GFLOP/s" if case.flops else f"{case.bytes / row.best / 1e9:.1f} GB/s"
        warm = "" if row.warm is None else f"{row.warm * 1e3:.0f}"
        lines.append(
            f"| {system} {row.start['version']} | {row.best * 1e3:.3f} | {row.median * 1e3:.3f} | {rate} "
            f"| {row.start['first'] * 1e3:.0f} | {warm} | {row.start['process']:.2f} |"
        )
    lines.append("")
    ratio = None
    peers = {system: row.best for system, row in rows.items() if system != "svod"}
    if "svod" in rows and peers:
        fastest = min(peers, key=lambda system: peers[system])
        ratio = rows["svod"].best / peers[fastest]
        lines.append(f"svod takes **{ratio:.2f} ×** the time of the best peer ({fastest}).")
    if len(rows) > 1:
        lines += [f"- {system}: its result differs from the others'" for system in disagreement(rows)]
    lines += [f"- {system}: {reason}" for system, reason in failures.items()]
    return "\n".join(lines).rstrip() + "\n", ratio


def machine(threads: int) -> str:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return f"{model}, {threads} threads, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def missing(system: str) -> str | None:
    absent = [module for module in SYSTEMS[system][1] if importlib.util.find_spec(module) is None]
    if system in TOOLS and shutil.which(TOOLS[system]) is None:
        absent.append(TOOLS[system])
    return f"{', '.join(absent)} is not installed" if absent else None


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures svod beside its peers.")
    parser.add_argument("--only", help=f"systems, separated by commas: {', '.join(SYSTEMS)}")
    parser.add_argument("--cases", help=f"beginnings of names, separated by commas: {', '.join(c.name for c in CASES)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="time of a turn (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--output", type=Path, help="also write the tables to this Markdown file")
    options = parser.parse_args()
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    options.threads = min(options.threads, len(os.sched_getaffinity(0)))
    systems = options.only.split(",") if options.only else list(SYSTEMS)
    if unknown := [system for system in systems if system not in SYSTEMS]:
        parser.error(f"--only: unknown {', '.join(unknown)}; known are {', '.join(SYSTEMS)}")
    wanted = tuple(options.cases.split(",")) if options.cases else ("",)
    cases = [case for case in CASES if case.name.startswith(wanted)]
    if not cases:
        parser.error(f"--cases: none begins with {options.cases}")

    pages: list[str] = []

    def show(text: str) -> None:
        print(text, flush=True)
        pages.append(text)

    show(f"{machine(options.threads)}\n")
    absent = {system: reason for system in systems if (reason := missing(system))}
    for system, reason in absent.items():
        show(f"- {system}: {reason}")
    if absent:
        show("")

    ratios = {}
    for case in cases:
        able = [system for system in systems if system not in absent and SYSTEMS[system][0] in case.programs]
        text, ratio = report(case, *measure(case, able, options))
        show(text)
        if ratio is not None:
            ratios[case.name] = ratio
    if len(ratios) > 1:
        mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
        show(f"Geometric mean over {len(ratios)} cases: svod takes **{mean:.2f} ×** the time of the best peer.\n")
    if options.output:
        command = " ".join(["python", "benches/compare.py", *sys.argv[1:]])
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text("\n".join([f"`{command}`\n", *pages]))


if __name__ == "__main__":
    main()
