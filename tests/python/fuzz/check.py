"""Runs a program and says what is wrong with it."""

from __future__ import annotations

import dataclasses

import svod
from fuzz import jaxes
from fuzz.modes import ASKED, MODES
from fuzz.noise import difference, expected
from fuzz.program import Program
from fuzz.slopes import wrong_slope


@dataclasses.dataclass(frozen=True)
class Fault:
    """What a program showed: `wrong` numbers, an `error` that has no reason, or what it `refused` to do."""

    kind: str
    told: str
    # The number of the value, where one is wrong.
    output: int | None = None

    def is_like(self, other: Fault | None) -> bool:
        """Whether this is the same fault, as far as one can tell."""
        if other is None or self.kind != other.kind:
            return False
        return self.kind == "wrong" or self.told.split(":")[0] == other.told.split(":")[0]


# Modes of gradients, and what compares them.
DIFFERENTIATED = {"gradient": wrong_slope, "jax": jaxes.wrong_gradient}

# What may be refused for what reasons: sizes that are variables decide on fewer things than numbers do.
REFUSED: dict[str, tuple[type[svod.Error], ...]] = {
    "cuda": (svod.UnsupportedError,),
    "symbolic": (svod.ShapeError, svod.ArgumentError, svod.TraceError, svod.UnsupportedError),
}


def fault(program: Program) -> Fault | None:
    """What is wrong with a program, or None."""
    told = expected(program)
    if told is None:
        return Fault("refused", "NumPy refuses it")
    try:
        results = (MODES | ASKED)[program.mode](program)
    except REFUSED.get(program.mode, ()) as error:
        return Fault("refused", f"{type(error).__name__}: {error}")
    except (AssertionError, Exception) as error:
        return Fault("error", f"{type(error).__name__}: {error}")
    except BaseException as error:  # A panic of Rust is not an `Exception`.
        if isinstance(error, KeyboardInterrupt):
            raise
        return Fault("panic", f"{type(error).__name__}: {error}")
    for which, outputs in enumerate(results):
        group = which % len(program.sizes)
        if program.mode in DIFFERENTIATED:
            try:
                found = DIFFERENTIATED[program.mode](program, group, outputs)
            except jaxes.Refused as error:
                return Fault("refused", f"JAX: {error}")
            if found:
                return Fault("wrong", found, program.outputs[0])
            continue
        for i, array, runs in zip(program.outputs, outputs, told):
            found = difference(array, runs[group], program.dtype(i))
            if found:
                return Fault("wrong", f"v{i} of contents {group}: {found}", i)
    return None
