#!/usr/bin/env python3
"""Two versions of svod in pairs: the cases of `compare.py`, for which two checkouts of the project take turns.

Each version runs in a process of its own, one computing at a time (old new, new old, …), on the same threads. The ratio
is the new one's best time over the old one's. A case that is slower than `SLOWER` after `--rounds` pairs has up to
`--most`, until both best times were seen twice, for what a machine does besides makes one of them late. Both checkouts
have their extension built (`maturin develop --release`, or `cargo build --release -p svod-python` and its library
copied to `python/svod/_svod.abi3.so`).

    python benches/pairs.py OLD [NEW] [--cases contractions,memory,minilm] [--output docs/benchmarks/pairs.md]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from measure import PAUSE, Row
from process import Worker, WorkerError
from report import geometric_mean, heading, milliseconds

from cases import CASES, Case

# A ratio above which a version counts as slower.
SLOWER = 1.03


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures two versions of svod in pairs.")
    parser.add_argument("old", type=Path, help="a checkout of the older version")
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1], help="by default this one")
    parser.add_argument("--cases", default="contractions,memory,minilm", help="groups or beginnings of names")
    parser.add_argument("--system", default="svod", help="svod or svod-fresh (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of turns (default: %(default)s)")
    parser.add_argument("--most", type=int, default=8, help="pairs of what seems slower (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time of a turn (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write this Markdown file")
    return parser.parse_args()


def is_chosen(case: Case, wanted: list[str]) -> bool:
    return any(one in case.groups or case.name.startswith(one) for one in wanted)


def pair(case: Case, options: argparse.Namespace) -> list[Row]:
    """The figures of both versions, the older one first."""
    cores = sorted(os.sched_getaffinity(0))
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory(prefix="svod-pairs-") as folder:
        try:
            for at, checkout in enumerate((options.old, options.new)):
                time.sleep(PAUSE)
                cache, none = Path(folder) / str(at), Path(folder) / "none"
                workers.append(Worker(options.system, case.name, cores, cache, none, 120, checkout.resolve()))
            rows = [Row(worker.start) for worker in workers]
            for done in range(options.most):
                settled = all(row.seen_twice for row in rows) if done >= options.rounds else False
                if done >= options.rounds and (settled or ratio(rows) <= SLOWER):
                    break
                for at in (0, 1) if done % 2 == 0 else (1, 0):
                    time.sleep(PAUSE)
                    rows[at].rounds.append(workers[at].measure(options.seconds))
            return rows
        finally:
            for worker in workers:
                worker.close()


def ratio(rows: list[Row]) -> float:
    old, new = rows
    return new.best / old.best


def main() -> None:
    options = arguments()
    found: dict[str, list[Row]] = {}
    for case in CASES:
        if not is_chosen(case, options.cases.split(",")):
            continue
        try:
            found[case.name] = rows = pair(case, options)
            print(
                f"{case.name:32} {milliseconds(rows[0].best)} {milliseconds(rows[1].best)} {ratio(rows):.2f}",
                flush=True,
            )
        except WorkerError as error:
            print(f"{case.name:32} {error}", flush=True)
    if not found:
        sys.exit("nothing was measured")
    ratios = {name: ratio(rows) for name, rows in found.items()}
    slower = [name for name, one in ratios.items() if one > SLOWER]
    told = f"new over old: {geometric_mean(list(ratios.values())):.3f} in the geometric mean of {len(ratios)} cases, "
    told += f"at most {max(ratios.values()):.2f}; {len(slower)} above {SLOWER}"
    print(told)
    if options.output:
        table = ["| case | old ms | new ms | new / old | pairs |", "|---|---:|---:|---:|---:|"]
        for name, rows in found.items():
            times = " | ".join(milliseconds(row.best) for row in rows)
            table.append(f"| {name} | {times} | {ratios[name]:.2f} | {len(rows[0].rounds)} |")
        head = heading("Two versions in pairs", len(os.sched_getaffinity(0)))
        options.output.write_text("\n".join([head, f"{told}.", "", *table, ""]))


if __name__ == "__main__":
    main()
