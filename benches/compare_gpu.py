#!/usr/bin/env python3
"""svod on a GPU beside PyTorch (eager: cuBLAS, cuDNN, SDPA), torch.compile, JAX and kernels in Triton.

Each library has one process for all cases, so that a kernel that traps or hangs takes nobody else with it; such a
process is started anew. All operands are on the device before anything is timed. svod is set up first, alone,
then the others at once; then all take turns, one computing at a time. A turn is several batches of calls, each of some
20 ms, timed by the GPU's events where the library has them (PyTorch, Triton), else by the clock until all have ended
(svod, JAX); figures are medians of all batches. No time counts before the result was compared with that in f64. The
first result is the time of compiling and running once, with nothing on disk.

    python benches/compare_gpu.py [--cases gelu,attention] [--only svod,torch] [--output docs/benchmarks/gpu.md]

With `--device CPU --small` the same runs on a machine without a GPU: a test of this program, its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpu_report
from gpu_worker import GPU_ONLY, GROUPS, LIBRARIES
from process import WorkerError

from cases import Case, gpu

WORKER = Path(__file__).with_name("gpu_worker.py")
QUERY = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures svod on a GPU beside its peers.")
    known = [system for _, systems in LIBRARIES.values() for system in systems]
    parser.add_argument("--device", default="CUDA", help="CUDA or CPU (default: %(default)s)")
    parser.add_argument("--only", help=f"systems, separated by commas: {', '.join(known)}")
    parser.add_argument("--cases", help="groups or beginnings of names, separated by commas; --list shows them")
    parser.add_argument("--matmul-set", action="store_true", help="the forty products in bf16, instead of the cases")
    parser.add_argument("--small", action="store_true", help="small extents: a test of this program")
    parser.add_argument("--list", action="store_true", help="list the cases with their groups, and end")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each system (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.15, help="time of a turn (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=60, help="seconds until a system is given up in a case")
    parser.add_argument("--total", type=float, default=280, help="seconds after which no case begins")
    parser.add_argument("--output", type=Path, help="write this Markdown file, and the raw data beside it")
    parser.add_argument("--add", action="store_true", help="keep the cases that the raw data has from other runs")
    options = parser.parse_args()
    options.device = options.device.upper()
    options.systems = options.only.split(",") if options.only else known
    if unknown := [system for system in options.systems if system not in known]:
        parser.error(f"--only: unknown {', '.join(unknown)}; known are {', '.join(known)}")
    if options.device == "CPU":
        options.systems = [system for system in options.systems if system not in GPU_ONLY]
    table = gpu.SMALL if options.small else gpu.MATMUL_SET if options.matmul_set else gpu.CASES
    wanted = options.cases.split(",") if options.cases else [""]
    options.chosen = [case for case in table if case.matches(wanted)]
    if "memory" in {group for case in options.chosen for group in case.groups} and table[0] not in options.chosen:
        # What bandwidths are compared with.
        options.chosen.insert(0, table[0])
    if not options.chosen:
        parser.error(f"--cases: nothing is called {options.cases}; --list shows all")
    return options


class Library:
    """A library's process; started when it is first needed, and again after it was given up."""

    def __init__(self, name: str, device: str, small: bool, limit: float) -> None:
        self.name, self.limit = name, limit
        self.command = [sys.executable, str(WORKER), name, device, *(["--small"] if small else [])]
        self.process: subprocess.Popen[bytes] | None = None
        self.version = ""
        self.absent: str | None = None
        self.cache = tempfile.mkdtemp(prefix="svod-bench-")
        self.environment = os.environ | {
            "SVOD_CACHE_DIR": self.cache,
            "TORCHINDUCTOR_CACHE_DIR": self.cache,
            "TRITON_CACHE_DIR": self.cache,
            "JAX_PLATFORMS": "cpu" if device == "CPU" else "cuda",
            # All compute in f32 what is in f32.
            "JAX_DEFAULT_MATMUL_PRECISION": "highest",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }

    def begin(self) -> None:
        """Starts the process, without waiting for it."""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (close() closes it)
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=self.environment,
            start_new_session=True,
        )

    def greet(self) -> None:
        """What the process says of itself."""
        try:
            self.version = self._answer()["version"]
        except WorkerError as error:
            self.absent = str(error)
            self.close()

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        if self.absent is not None:
            raise WorkerError(self.absent)
        if self.process is None:
            self.begin()
            self._answer()
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write((json.dumps({"do": do} | request) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # Its end says why.
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process is not None and self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], self.limit)
        if not readable:
            self.close()
            raise WorkerError(f"timed out after {self.limit:.0f} s")
        line = self.process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            if "failure" in answer:
                if answer.get("broken"):
                    self.close()
                raise WorkerError(answer["failure"])
            return answer
        status = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        if status < 0:
            raise WorkerError(f"ended by {signal.Signals(-status).name}")
        raise WorkerError(lines[-1] if lines else f"ended with status {status}")

    def close(self) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.errors.close()
        self.process = None


class Watch:
    """Clocks, power and temperature, as nvidia-smi tells them twice a second."""

    def __init__(self) -> None:
        self.samples: list[list[float]] = []
        self.process: subprocess.Popen[str] | None = None
        if shutil.which("nvidia-smi"):
            query = f"--query-gpu={','.join(QUERY)}"
            self.process = subprocess.Popen(
                ["nvidia-smi", "-i", "0", query, "--format=csv,noheader,nounits", "-lms", "500"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self.samples.append([float(number) for number in line.split(",")])
            except ValueError:
                continue  # A driver that does not tell one of them.

    def since(self, first: int) -> dict[str, float]:
        """Medians of the samples from a number on."""
        samples = self.samples[first:]
        return {
            name: statistics.median(column) for name, column in zip(QUERY, zip(*samples, strict=True), strict=False)
        }

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()


def described() -> str:
    """The GPU and its driver."""
    if not shutil.which("nvidia-smi"):
        return "no GPU"
    query = "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit"
    told = subprocess.run(["nvidia-smi", "-i", "0", query, "--format=csv,noheader"], capture_output=True, text=True)
    return told.stdout.strip() or "no GPU"


@dataclass
class Measured:
    """A case's figures by system, and why others have none."""

    case: Case
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    watch: dict[str, float] = field(default_factory=dict)

    def raw(self) -> dict[str, Any]:
        case = self.case
        work = {"flops": case.flops, "bytes": case.reads + case.writes, "groups": case.groups}
        return {"case": case.name, **work, "rows": self.rows, "failures": self.failures, "watch": self.watch}


@contextmanager
def noted(result: Measured, system: str) -> Iterator[None]:
    """What goes wrong in it is the system's failure in this case."""
    try:
        yield
    except WorkerError as error:
        result.failures[system] = str(error)
        result.rows.pop(system, None)


class Comparison:
    """All libraries, and the cases that they compute in turns."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.libraries: dict[str, Library] = {}
        # By system, the library that runs it.
        self.owners: dict[str, str] = {}
        for name, (_, systems) in LIBRARIES.items():
            for system in systems:
                if system in options.systems:
                    self.owners[system] = name
                    self.libraries.setdefault(name, Library(name, options.device, options.small, options.limit))
        for library in self.libraries.values():
            library.begin()
        for library in self.libraries.values():
            library.greet()

    def systems(self, case: Case) -> list[str]:
        return [
            system
            for system, owner in self.owners.items()
            if self.libraries[owner].absent is None
            and any(group in GROUPS.get(system, case.groups) for group in case.groups)
        ]

    def measure(self, case: Case, watch: Watch) -> Measured:
        result, seen = Measured(case), len(watch.samples)
        with tempfile.TemporaryDirectory(prefix="svod-bench-") as folder:
            systems = self.systems(case)
            placed = self.place(result, systems, str(Path(folder) / "exact.npz"))
            for system in [system for system in placed if self.owners[system] == "svod"]:
                self.set_up(result, system)
            others = [system for system in placed if self.owners[system] != "svod"]
            self.at_once(lambda system: self.set_up(result, system), others)
            for _ in range(self.options.rounds):
                for system in list(result.rows):
                    with noted(result, system):
                        answer = self.ask(system, "measure", system=system, seconds=self.options.seconds)
                        result.rows[system]["times"] += answer["times"]
            for library in self.libraries.values():
                if library.process is not None:
                    with noted(result, f"{library.name}, after"):
                        library.ask("drop")
        # What a failure left without a time is no figure.
        result.rows = {system: row for system, row in result.rows.items() if row["times"]}
        result.watch = watch.since(seen)
        return result

    def place(self, result: Measured, systems: Sequence[str], exact: str) -> list[str]:
        """Puts the operands where they are computed with, and has the exact results made."""
        owners = list(dict.fromkeys(self.owners[system] for system in systems))
        placed: list[str] = []

        def put(owner: str) -> None:
            try:
                self.libraries[owner].ask("place", case=result.case.name, exact=exact)
            except WorkerError as error:
                result.failures |= {system: str(error) for system in systems if self.owners[system] == owner}
            else:
                placed.append(owner)

        self.at_once(put, owners)
        if "torch" in placed:
            with noted(result, "exact results"):
                self.libraries["torch"].ask("exact")
        return [system for system in systems if self.owners[system] in placed]

    def at_once(self, action: Any, names: Sequence[str]) -> None:
        """Libraries one beside the other; what one library does in turn."""
        queues: dict[str, list[str]] = {}
        for name in names:
            queues.setdefault(self.owners.get(name, name), []).append(name)
        threads = [threading.Thread(target=lambda q=queue: [action(name) for name in q]) for queue in queues.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def set_up(self, result: Measured, system: str) -> None:
        with noted(result, system):
            answer = self.ask(system, "set up", system=system)
            error = answer.get("error")
            if error is not None and not error <= result.case.tolerance:
                raise WorkerError(f"its result is wrong: off by {error:.1e}, {result.case.tolerance:.0e} is allowed")
            result.rows[system] = answer | {"times": []}

    def ask(self, system: str, do: str, /, **request: Any) -> dict[str, Any]:
        library = self.libraries[self.owners[system]]
        if library.process is None and do != "place":
            raise WorkerError("its process ended in this case")
        return library.ask(do, **request)

    def close(self) -> None:
        for library in self.libraries.values():
            library.close()
            shutil.rmtree(library.cache, ignore_errors=True)


def main() -> None:
    options = arguments()
    if options.list:
        # Whoever reads the list may stop early.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for case in options.chosen:
            print(f"{case.name:40} {', '.join(case.groups)}")
        return
    # Ended by Ctrl-C or from outside, what was measured is written all the same.
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, signal.default_int_handler)
    started = time.perf_counter()
    watch, comparison = Watch(), None
    results: list[dict[str, Any]] = []
    try:
        comparison = Comparison(options)
        page = gpu_report.Page(options.output, options.add, described(), comparison.libraries)
        print(page.head, flush=True)
        for case in options.chosen:
            if time.perf_counter() - started > options.total:
                print(f"{case.name} and what follows: no time left", flush=True)
                break
            results.append(comparison.measure(case, watch).raw())
            print(gpu_report.case_lines(results[-1]), flush=True)
            page.write(results)
    except KeyboardInterrupt:
        print("Interrupted; what was measured:\n")
    finally:
        watch.close()
        if comparison is not None:
            comparison.close()
    print(gpu_report.summary(results))


if __name__ == "__main__":
    main()
