"""Every public function where its operands are, whatever device is the default: what it makes itself joins them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

from calls import CALLS, Call

# Their first operand is a device, or memory of the host.
ELSEWHERE = ("cpu", "cuda", "to", "from_dlpack", "from_numpy", "frombuffer")


@pytest.fixture(autouse=True)
def default_device() -> Iterator[None]:
    yield
    svod.set_default_device(None)


@pytest.mark.parametrize("devices", [("CUDA", "CPU"), ("CPU", "CUDA")], ids=["on the GPU", "on the CPU"])
@pytest.mark.parametrize("call", CALLS, ids=[call.text for call in CALLS])
def test_operands_decide_where(call: Call, devices: tuple[str, str]) -> None:
    operands, default = devices
    svod.set_default_device(operands)
    callee, args, named = call.arguments()
    svod.set_default_device(default)
    if call.name.split(".")[-1] in ELSEWHERE:
        return
    try:
        callee(*args, **named)
    except svod.DeviceError as error:
        pytest.fail(f"{call.text}: {error}")
    except Exception:
        # What else is wrong is the business of other tests.
        return
