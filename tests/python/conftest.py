"""What holds for all tests."""

from __future__ import annotations

import os
import signal

import pytest

# A shell ignores Ctrl-C for what it starts in the background, and processes inherit that; tests send it to
# themselves and to processes of their own.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Models of tests have random weights, or are in the repository: nothing is fetched.
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where the suite runs on another device than the CPU, tests of what only processors have are left out."""
    if os.environ.get("SVOD_DEVICE", "").upper().startswith("CUDA"):
        for item in items:
            if item.get_closest_marker("of_cpus"):
                item.add_marker(pytest.mark.skip(reason="asks for what processors have"))
