"""Measuring a case: its systems take turns, one computing at a time."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from process import Worker, WorkerError

from cases import Case
from systems import OURS, SYSTEMS

# A pause before each turn, in which the last one's threads fall asleep.
PAUSE = 0.2
# A best time counts as seen twice where the next best turn's is no more than this above it.
AGREE = 0.03
# Peers so close to the best one may yet be the best.
CONTENDER = 1.25


@dataclass(frozen=True)
class Plan:
    """How to measure: `cores` to run on, `seconds` of a turn, `limit` seconds until a worker is given up.

    Each system has `rounds` turns; on a noisy machine those that a ratio is of have up to `most`, until each one's
    best time was seen twice.
    """

    cores: Sequence[int]
    rounds: int
    most: int
    seconds: float
    limit: float
    warm: bool


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
    def seen_twice(self) -> bool:
        """Whether two turns agree on the best time."""
        times = sorted(r["best"] for r in self.rounds)
        return len(times) > 1 and times[1] <= (1 + AGREE) * times[0]

    @property
    def median(self) -> float:
        return statistics.median(r["median"] for r in self.rounds)


@dataclass
class Result:
    """A case's rows, and why other systems have none."""

    case: Case
    rows: dict[str, Row] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def best_peer(self) -> str | None:
        """The fastest of the others."""
        peers = [system for system in self.rows if system not in OURS]
        return min(peers, key=lambda system: self.rows[system].best, default=None)

    def ratio(self, system: str) -> float | None:
        """The system's best time over the best peer's."""
        peer = self.best_peer()
        if peer is None or system not in self.rows:
            return None
        return self.rows[system].best / self.rows[peer].best

    def contenders(self) -> list[str]:
        """svod, and the peers of which one is the best."""
        peer = self.best_peer()
        most = CONTENDER * self.rows[peer].best if peer else 0.0
        return [system for system, row in self.rows.items() if system in OURS or row.best <= most]

    def settled(self, system: str) -> bool:
        """Whether both times that the system's ratio is of were seen twice."""
        return all(self.rows[one].seen_twice for one in (system, self.best_peer()) if one in self.rows)

    def raw(self) -> dict[str, Any]:
        """Everything that was measured, for a file."""
        return {
            "case": self.case.name,
            "flops": self.case.flops,
            "reads": self.case.reads,
            "writes": self.case.writes,
            "systems": {system: asdict(row) for system, row in self.rows.items()},
            "failures": self.failures,
        }


def measure(result: Result, systems: Sequence[str], plan: Plan) -> None:
    """Fills in a case's figures; a system whose result is wrong has none."""
    case = result.case
    workers: dict[str, Worker] = {}
    with tempfile.TemporaryDirectory(prefix="svod-compare-") as folder:
        reference = Path(folder) / "reference.npz"

        def start(system: str) -> Worker:
            return Worker(system, case.name, plan.cores, Path(folder) / system, reference, plan.limit)

        def turn(system: str, action: Callable[[], None]) -> None:
            time.sleep(PAUSE)
            try:
                action()
            except WorkerError as error:
                result.failures[system] = str(error)
                result.rows.pop(system, None)
                if system in workers:
                    workers.pop(system).close()

        def begin(system: str) -> None:
            workers[system] = worker = start(system)
            error = worker.start.get("error", 0.0)
            if not error <= case.tolerance:
                raise WorkerError(f"its result is wrong: off by {error:.1e}, {case.tolerance:.0e} is allowed")
            result.rows[system] = Row(worker.start)

        def once(system: str) -> None:
            result.rows[system].rounds.append(workers[system].measure(plan.seconds))

        def again(system: str) -> None:
            try:
                worker = start(system)
            except WorkerError as error:
                result.failures[f"{system}, from disk"] = str(error)
                return
            result.rows[system].warm = worker.start["first"]
            worker.close()

        try:
            turn("reference", lambda: start("reference").close())
            for system in systems:
                turn(system, lambda system=system: begin(system))  # type: ignore[misc]
            for done in range(max(plan.rounds, plan.most)):
                going = [system for system in workers if done < plan.rounds or system in result.contenders()]
                if done >= plan.rounds and all(map(result.settled, OURS)):
                    break
                for system in going:
                    turn(system, lambda system=system: once(system))  # type: ignore[misc]
        finally:
            for worker in workers.values():
                worker.close()
            # What an interrupt left without a time is no figure.
            result.rows = {system: row for system, row in result.rows.items() if row.rounds}
        if plan.warm:
            for system in [system for system in result.rows if SYSTEMS[system].keeps]:
                turn(system, lambda system=system: again(system))  # type: ignore[misc]
