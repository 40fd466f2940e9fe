"""Wrong arguments, of every public function, method, layer, optimizer and plan: typed errors that name the parameter.

No call may panic, hang or take much memory, whatever it is given.
"""

from __future__ import annotations

import inspect
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from calls import CALLS, LINES, Call

import svod
import svod.nn.functional as F
from svod import fft, linalg, nn, optim
from svod.library._table import FUNCTIONS, METHODS
from svod.nn import init, utils
from svod.optim import lr_scheduler

WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "a",
    "an object": object,
    "a flag": lambda: True,
    "-1": lambda: -1,
    "0": lambda: 0,
    "7": lambda: 7,
    "2**40": lambda: 2**40,
    "2**63": lambda: 2**63,
    "-2**63": lambda: -(2**63),
    "2**200": lambda: 2**200,
    "1.5": lambda: 1.5,
    "1e300": lambda: 1e300,
    "nan": lambda: float("nan"),
    "[]": list,
    "()": tuple,
    "{}": dict,
    "[None]": lambda: [None],
    "[text]": lambda: ["a"],
    "huge extents": lambda: [2**40] * 2,
    "a tensor of integers": lambda: svod.ones(2, dtype="int64"),
    "a tensor of another shape": lambda: svod.ones(5, 5),
    "a tensor of another type": lambda: svod.ones(3, 3, dtype="bfloat16"),
    "an array of text": lambda: np.array(["a"]),
    "a function": lambda: len,
    "a generator": lambda: (i for i in "ab"),
}
# What errors from below call a parameter of a function that passes it on.
ALSO = {"axis": "dim", "keepdims": "keepdim", "arrays": "tensors", "primals": "derivative by", "args": "forward"}
# Memory that no error needs.
MOST_BYTES = 1 << 30


def _square(x: svod.Tensor) -> svod.Tensor:
    return x * x


def cases() -> Iterator[tuple[Call, int | str, str]]:
    for call in CALLS:
        for place in call.places:
            yield from ((call, place, wrong) for wrong in WRONG)


def complaint(call: Call, place: int | str, wrong: str) -> str | None:
    """What is wrong with how a call takes a wrong argument."""
    callee, args, named = call.arguments()
    given = WRONG[wrong]()
    if isinstance(place, int):
        args[place] = given
    else:
        named[place] = given
    try:
        callee(*args, **named)
    except svod.Error as error:
        if is_of_a_given_function(error):
            return None
        told = " ".join([str(error), *getattr(error, "__notes__", [])])
        parameter = call.parameter(callee, place) or ""
        is_unclear = len(call.places) > 1
        if not str(error):
            return "no message"
        if (
            isinstance(error, svod.ArgumentTypeError)
            and is_unclear
            and not any(name in told for name in (parameter, ALSO.get(parameter, parameter)))
        ):
            return f"{parameter} is not named: {told}"
    except BufferError:
        # What the array API has `from_dlpack` raise for types that DLPack lacks.
        return None if call.name == "svod.from_dlpack" else "BufferError"
    except BaseException as error:
        return None if is_of_a_given_function(error) else f"{type(error).__name__}: {error}"
    return None


def is_of_a_given_function(error: BaseException) -> bool:
    """Whether it was raised by a function that is an argument, which was given the wrong one: that stays as it is."""
    return any(frame.filename == LINES for frame in traceback.extract_tb(error.__traceback__))


def test_calls_of_the_table_work() -> None:
    for call in CALLS:
        callee, args, named = call.arguments()
        callee(*args, **named)


def test_wrong_arguments_are_typed_errors_that_name_the_parameter() -> None:
    svod.memory(reset_peak=True)
    live = svod.memory()["CPU"]["live"]
    threads = svod.get_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(case, said) for case in cases() if (said := complaint(*case)) is not None]
    # Of the process, where some of the wrong values are right ones.
    svod.set_threads(threads)
    svod.set_grad_enabled(True)
    assert not found, "\n".join(f"{call.text}: {place} = {wrong}: {said}" for (call, place, wrong), said in found[:20])
    assert svod.memory()["CPU"]["peak"] - live < MOST_BYTES


# Public names that no call of the table is of, by the reason.
WITHOUT = {
    **dict.fromkeys(["svod.get_rng_state", "svod.initial_seed"], "takes nothing"),
    **dict.fromkeys(
        ["svod.no_grad", "svod.enable_grad", "svod.is_grad_enabled", "svod.get_threads", "svod.get_default_device"],
        "no arguments",
    ),
    **dict.fromkeys(["svod.caches", "svod.clear_caches", "svod.compile_times"], "no arguments"),
    **dict.fromkeys(["nn.Identity", "nn.Module", "lr_scheduler.LRScheduler"], "no arguments of its own"),
    **dict.fromkeys(["nn.FunctionModule", "optim.Optimizer", "optim.ParamGroup"], "a base or a part of others"),
    "svod.measure_machine": "takes a second",
    **dict.fromkeys(["svod.devices", "svod.set_default_device", "svod.synchronize"], "devices: test_cuda.py"),
    "svod.load_safetensors": "files: test_files.py",
    "svod.save_safetensors": "files: test_files.py",
}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    spaces = {
        "svod": svod,
        "nn": nn,
        "F": F,
        "init": init,
        "utils": utils,
        "optim": optim,
        "fft": fft,
        "linalg": linalg,
    }
    for space, module in (spaces | {"lr_scheduler": lr_scheduler}).items():
        for name in getattr(module, "__all__", dir(module)):
            found = getattr(module, name)
            is_error = inspect.isclass(found) and issubclass(found, (BaseException, tuple, dict))
            made_by_others = inspect.isclass(found) and "No constructor" in (found.__doc__ or "")
            is_type = isinstance(found, svod.DType)
            if callable(found) and not (is_error or is_type or made_by_others or name.startswith("_")):
                yield f"{space}.{name}", found


def is_of_a_table(found: Callable[..., Any]) -> bool:
    """Whether tables of operations of one or two operands make it, of which many are called."""
    return str(inspect.signature(found)) in {"(x, /)", "(x1, x2, /)", "(self, /)", "(self, /, other)"}


def test_every_public_name_is_called() -> None:
    called = {call.name.split("(")[0] for call in CALLS} | {call.name.removesuffix("()") for call in CALLS}
    # Those of the library all go through one function, which the ones that are called test.
    called |= {f"svod.{name}" for name in FUNCTIONS} | WITHOUT.keys()
    missing = {name for name, found in public() if name not in called and not is_of_a_table(found)}
    by_svod = {"DType", "ExecutionPlan", "HostFunction", "Jitted", "Kernel", "PlanInput", "Profile", "Size", "Timing"}
    assert not missing - {f"svod.{name}" for name in by_svod}
    methods = {call.name.rsplit(".", 1)[-1] for call in CALLS if "." in call.name} | METHODS.keys()
    public_methods = {n: item for n, item in vars(svod.Tensor).items() if callable(item) and not n.startswith("_")}
    assert not {n for n, item in public_methods.items() if n not in methods and not is_of_a_table(item)}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: nn.Linear("3", 4), "Linear: in_features: an integer is expected, not '3'"),
        (lambda: nn.Conv2d(1, 2, None), "Conv2d: kernel_size: an integer, or several, is expected"),  # type: ignore[arg-type]
        (lambda: F.relu(3), "relu: input: a tensor is expected, not 3"),  # type: ignore[arg-type]
        (lambda: F.linear(svod.ones(2)), "linear: missing a required argument: 'weight'"),  # type: ignore[call-arg]
        (lambda: nn.ReLU()("a"), "relu: input: a tensor is expected, not 'a'"),
        (lambda: optim.SGD([svod.ones(2)], lr="fast"), "SGD: lr: a number is expected, not 'fast'"),
        (lambda: nn.LSTM(2, 2, num_layers=2**40), "LSTM: num_layers: from 1 to 65536 layers, not 1099511627776"),
        (lambda: svod.ones(2, 3).sum(0, keepdim="yes"), "True or False is expected, not 'yes'"),
        (lambda: svod.save_safetensors(3, "x"), "save_safetensors: tensors: a dict is expected, not 3"),  # type: ignore[arg-type]
        # Composed of others, which the error does not name in place of what was called.
        (lambda: F.hardswish(3), "hardswish: input: a tensor is expected, not 3"),  # type: ignore[arg-type]
        (lambda: fft.fft2(svod.ones(2, 2), axes="a"), "fft2: axes: an integer, or several, is expected"),  # type: ignore[arg-type]
        (lambda: F.upsample(3, 2), "upsample: input: a tensor is expected, not 3"),
        # Objects are true or false to Python.
        (
            lambda: linalg.cholesky(svod.eye(2), upper="lower"),
            "cholesky: upper: True or False is expected, not 'lower'",
        ),
        (
            lambda: F.fold(svod.ones(4, 4), (2, 2, 2), 2),
            "fold: as many numbers as axes, 2, are expected, not [2, 2, 2]",
        ),
        (lambda: F.max_pool1d(svod.ones(1, 4), (2, 2), return_indices=True), "max_pool1d: as many numbers as axes"),
        (lambda: svod.sort(svod.ones(2), stable="no"), "sort: stable: True or False is expected, not 'no'"),
        (lambda: F.l1_loss(svod.ones(2), svod.ones(2), reduction=3), "l1_loss: reduction: text is expected, not 3"),  # type: ignore[arg-type]
        (lambda: F.hinge_embedding_loss(svod.ones(2), [1, -1]), "target: a tensor is expected, not [1, -1]"),  # type: ignore[arg-type]
        (lambda: F.softmax(svod.ones(2), 0, axis=0), "softmax: axis and dim are one argument"),
        (lambda: svod.jit(3), "jit: function: a function is to be traced, not 3"),  # type: ignore[call-overload]
        (lambda: svod.jit(_square, max_traces="a"), "jit: max_traces: an integer of at least 1"),  # type: ignore[call-overload]
        (
            lambda: lr_scheduler.StepLR(optim.SGD([svod.ones(2)], lr=0.1), "a"),
            "StepLR: step_size: an integer is expected",
        ),  # type: ignore[arg-type]
    ],
)
def test_messages(act: Callable[[], Any], message: str) -> None:
    with pytest.raises(svod.ArgumentError) as raised:
        act()
    assert message in str(raised.value)


def test_wrong_types_are_type_errors() -> None:
    for act in (
        lambda: linalg.cholesky(svod.eye(2), upper="lower"),
        lambda: F.l1_loss(svod.ones(2), svod.ones(2), reduction=3),  # type: ignore[arg-type]
        lambda: svod.jit(3),  # type: ignore[call-overload]
    ):
        with pytest.raises(TypeError):
            act()


def test_what_a_users_function_raises_stays_as_it_is() -> None:
    def wrong(x: svod.Tensor) -> svod.Tensor:
        raise TypeError("mine")

    class Wrong(nn.Module):
        def forward(self, x: svod.Tensor) -> svod.Tensor:
            return wrong(x)

    x = svod.ones(2)
    for act in (
        lambda: svod.grad(wrong)(x),
        lambda: svod.jit(wrong)(x),
        lambda: nn.Sequential(Wrong())(x),
        lambda: svod.iterate(2, lambda i, a: wrong(a), x),
        lambda: optim.lr_scheduler.LambdaLR(optim.SGD([x], lr=0.1), wrong),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=r"^mine$") as raised:
            act()
        assert type(raised.value) is TypeError


class _Nothing:
    """What nothing takes."""


# What says of an argument that another one is it, too.
TWICE = ("give only one of them", "by position and by name", "given twice")


# Errors that say in other words which call and argument it is: the plan's input, the variable's method, the functions.
OTHERWISE = {
    ("prepare", "schedules"),
    ("parse", "functions"),
    ("run", "arrays"),
    ("execute_profiled", "arrays"),
    ("copy_", "value"),
    ("bind", "value"),
}


def of_the_extension() -> Iterator[tuple[Call, inspect.Parameter, int]]:
    """Calls of what the extension itself makes, and each parameter."""
    seen = set()
    for call in CALLS:
        callee, *_ = call.arguments()
        if isinstance(callee, types.BuiltinFunctionType):
            for at, parameter in enumerate(inspect.signature(callee).parameters.values()):
                if (call.name, parameter.name) not in seen and parameter.kind is not parameter.VAR_KEYWORD:
                    seen.add((call.name, parameter.name))
                    yield call, parameter, at


def test_errors_of_the_extension_name_function_and_parameter() -> None:
    found, count = [], 0
    for call, parameter, at in of_the_extension():
        callee, args, named = call.arguments()
        by_position = parameter.kind is not parameter.KEYWORD_ONLY and parameter.name not in named and at <= len(args)
        if by_position:
            args[at : at + 1] = [_Nothing()]
        else:
            named[parameter.name] = _Nothing()
        count += 1
        try:
            callee(*args, **named)
        except TypeError as error:
            function, told = call.name.rsplit(".", 1)[-1], str(error)
            several = parameter.kind is parameter.VAR_POSITIONAL
            named_it = several or parameter.name in told or any(text in told for text in TWICE)
            if (function, parameter.name) not in OTHERWISE and (function not in told or not named_it):
                found.append(f"{call.text}: {parameter.name}: {told}")
        except BaseException as error:
            found.append(f"{call.text}: {parameter.name}: {type(error).__name__}: {error}")
        else:
            found.append(f"{call.text}: {parameter.name}: no error")
    assert not found, "\n".join(found[:40])
    assert count > 600
