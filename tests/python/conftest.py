"""What holds for all tests."""

from __future__ import annotations

import signal

# A shell ignores Ctrl-C for what it starts in the background, and processes inherit that; tests send it to
# themselves and to processes of their own.
signal.signal(signal.SIGINT, signal.default_int_handler)
