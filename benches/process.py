"""Workers seen from outside: how a system's process is started, asked, and given up."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from systems import SYSTEMS

WORKER = Path(__file__).with_name("worker.py")
# Libraries below the systems read these.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def peak() -> float:
    """The most memory that this process had, in MB. What `getrusage` tells is that of whoever started it, too."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


class WorkerError(Exception):
    """A system could not compute a case; the text says why."""


def asked(script: str, library: str, options: Sequence[str], limit: float) -> dict[str, Any]:
    """What a script prints as the worker of a library, with nothing kept on disk, or why it printed nothing."""
    cores = len(os.sched_getaffinity(0))
    environment = os.environ | dict.fromkeys(THREADS, str(cores))
    try:
        with tempfile.TemporaryDirectory(prefix="svod-bench-") as cache:
            own = environment | SYSTEMS[library].environment(Path(cache), cores)
            command = [sys.executable, script, "--worker", library, *options]
            done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failure": f"no end after {limit:.0f} s"}
    if done.returncode != 0:
        return {"failure": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout))


class Worker:
    """A system's process; between its turns it waits for a line on its standard input."""

    def __init__(
        self,
        system: str,
        case: str,
        cores: Sequence[int],
        cache: Path,
        reference: Path,
        limit: float,
        checkout: Path | None = None,
    ) -> None:
        """`checkout` is another copy of the project, whose benches and package the process uses."""
        cache.mkdir(exist_ok=True)
        environment = os.environ | dict.fromkeys(THREADS, str(len(cores)))
        script = WORKER
        if checkout is not None:
            environment["PYTHONPATH"] = str(checkout / "python")
            script = checkout / "benches" / WORKER.name
        if system in SYSTEMS:
            environment |= SYSTEMS[system].environment(cache, len(cores))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (close() closes it)
        self._limit = limit
        start = time.perf_counter()
        self._process = subprocess.Popen(
            [
                *(sys.executable, str(script), system, case),
                *("--threads", str(len(cores)), "--reference", str(reference)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            # An interrupt is for compare.py, which then ends the worker.
            start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        try:
            self.start = self._answer()
        except BaseException:
            self.close()
            raise
        self.start["process"] = time.perf_counter() - start

    def measure(self, seconds: float) -> dict[str, float]:
        """The calls of one turn."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n".encode())
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], self._limit)
        if not readable:
            raise WorkerError(f"timed out after {self._limit:.0f} s")
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            if "failure" in answer:
                raise WorkerError(answer["failure"])
            return answer
        status = self._process.wait()
        if status < 0:
            raise WorkerError(f"ended by {signal.Signals(-status).name}")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise WorkerError(lines[-1] if lines else f"ended with status {status}")

    def close(self) -> None:
        """Ends the process, and those that it started (compilers)."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._errors.close()
