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


@dataclass(frozen=True)
class Plan:
    """How to measure: `cores` to run on, `seconds` of a turn, `limit` seconds until a worker is given up."""

    cores: Sequence[int]
    rounds: int
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
            for _ in range(plan.rounds):
                for system in list(workers):
                    turn(system, lambda system=system: once(system))  # type: ignore[misc]
        finally:
            for worker in workers.values():
                worker.close()
            # What an interrupt left without a time is no figure.
            result.rows = {system: row for system, row in result.rows.items() if row.rounds}
        if plan.warm:
            for system in [system for system in result.rows if SYSTEMS[system].keeps]:
                turn(system, lambda system=system: again(system))  # type: ignore[misc]
