"""Threads that do the same at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

THREADS = 8
# Seconds after which threads that have not come back are taken to be in a deadlock.
PATIENCE = 120


def in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Runs `work(i)` in `count` threads that begin together; the first error is raised here."""
    start = threading.Barrier(count)

    def begin(i: int) -> None:
        start.wait()
        work(i)

    pool = ThreadPoolExecutor(count)
    try:
        for future in [pool.submit(begin, i) for i in range(count)]:
            future.result(timeout=PATIENCE)
    finally:
        pool.shutdown(wait=False)
