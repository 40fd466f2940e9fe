"""Runs random programs for a while: `python -m fuzz --seconds 60`; `--seed 17` runs one program again.

Workers are processes, since a fault may end one: it says which program it begins, so that its end has a cause.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# What a program may take, compiled for the first time on a busy machine, before it counts as hanging.
MOST_SECONDS = 120
# After so many programs a worker ends and another one goes on: caches do not grow without bound.
A_WORKER = 1000


def worker(seeds: range, modes: list[str]) -> None:
    """Runs programs, one line each before and after it."""
    from fuzz.check import fault
    from fuzz.drawing import draw_program
    from fuzz.operations import OPERATIONS
    from fuzz.shrink import shrunk

    for seed in seeds:
        print(json.dumps({"begun": seed}), flush=True)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        program = draw_program(seed, OPERATIONS, modes)
        found = fault(program) if program.outputs else None
        line: dict[str, object] = {"mode": program.mode, "statements": len(program.statements)}
        if found is not None:
            line |= {"kind": found.kind, "told": found.told}
            if found.kind != "refused":
                faulthandler.dump_traceback_later(10 * MOST_SECONDS, exit=True)
                program = shrunk(program, found, fault)
                line |= {"told": str(fault(program)), "script": program.script()}
        print(json.dumps(line), flush=True)


class Runner:
    """Keeps workers at work, and counts what they find."""

    def __init__(self, first: int, modes: list[str], until: float, most: int) -> None:
        self.modes, self.until, self.most = modes, until, most
        self.next = first
        self.lock = threading.Lock()
        self.counts: collections.Counter[str] = collections.Counter()
        self.begun = 0

    def share(self) -> range:
        with self.lock:
            seeds = range(self.next, self.next + A_WORKER)
            self.next += A_WORKER
        return seeds

    def work(self) -> None:
        seeds = range(0)
        while time.monotonic() < self.until and self.begun < self.most:
            seeds = seeds or self.share()
            command = [
                sys.executable,
                "-m",
                "fuzz",
                "--worker",
                str(seeds.start),
                str(seeds.stop),
                "--modes",
                *self.modes,
            ]
            done = self.follow(command)
            seeds = range(done, seeds.stop)

    def follow(self, command: list[str]) -> int:
        """Reads what a worker says; gives the seed after the last one."""
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ):
            seed, is_open = int(command[4]), False
            assert process.stdout
            for text in process.stdout:
                line = json.loads(text)
                if "begun" in line:
                    if time.monotonic() > self.until or self.begun >= self.most:
                        process.kill()
                        return seed
                    seed, is_open = line["begun"], True
                    continue
                is_open = False
                self.note(seed, line)
            code = process.wait()
            if is_open and time.monotonic() < self.until:
                errors.seek(0)
                told = f"the process ended with {code}\n{errors.read()[-2000:]}"
                self.note(seed, {"mode": "?", "kind": "crash", "told": told})
            elif code and time.monotonic() < self.until:
                errors.seek(0)
                raise RuntimeError(f"a worker failed: {errors.read()[-4000:]}")
        return seed + 1

    def stop(self, *_: object) -> None:
        """No program begins from now on."""
        self.until = 0.0

    def told(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return f"{self.begun} programs: {counts}"

    def note(self, seed: int, line: dict[str, str]) -> None:
        with self.lock:
            self.begun += 1
            kind = line.get("kind", "right")
            self.counts[kind] += 1
            if self.begun % 5000 == 0:
                print(self.told(), flush=True)
            if kind not in ("right", "refused"):
                print(
                    f"\n--- seed {seed}, {line['mode']}: {kind}: {line['told']}\n{line.get('script', '')}", flush=True
                )


def main() -> int:
    from fuzz.modes import ASKED, MODES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--programs", type=int, default=1 << 60, help="end after so many")
    parser.add_argument("--first", type=int, default=None, help="the first seed; by default another one each time")
    parser.add_argument("--seed", type=int, default=None, help="run this one only, here")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=[*MODES, *ASKED])
    parser.add_argument("--worker", type=int, nargs=2, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(range(*given.worker), given.modes)
        return 0
    if given.seed is not None:
        worker(range(given.seed, given.seed + 1), given.modes)
        return 0
    first = given.first if given.first is not None else int(time.time()) * 1000
    with tempfile.TemporaryDirectory() as cache:
        # What these programs compile is of no use to anybody else.
        os.environ["SVOD_CACHE_DIR"] = cache
        # Workers find this package, and svod where it was found here.
        paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        runner = Runner(first, given.modes, time.monotonic() + given.seconds, given.programs)
        signal.signal(signal.SIGTERM, runner.stop)
        signal.signal(signal.SIGINT, runner.stop)
        threads = [threading.Thread(target=runner.work) for _ in range(given.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"from seed {first}: {runner.told()}")
    return 1 if set(runner.counts) - {"right", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main())
