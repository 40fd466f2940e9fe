"""How functions of the library come to be in `svod`, on `Tensor` and in the stubs."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import svod
from svod import _svod
from svod.library._table import FUNCTIONS, METHODS, REPLACED, TABLE

FILES = Path(svod.__file__).parent / "library"


def rows() -> Iterator[tuple[str, str, str, str]]:
    for file, listed in TABLE.items():
        for names, kinds, libraries in listed:
            yield file, names, kinds, libraries


def test_files_have_the_functions_of_the_table() -> None:
    assert {path.stem for path in FILES.glob("*.py") if not path.stem.startswith("_")} == set(TABLE)
    for file in TABLE:
        public = importlib.import_module(f"svod.library.{file}").__all__
        assert sorted(public) == public
        assert sorted(names.split()[0] for of, names, _, _ in rows() if of == file) == public


def test_rows_are_in_order_and_say_whose_names_they_are() -> None:
    for file, listed in TABLE.items():
        assert [*listed] == sorted(listed), file
    for _, names, kinds, libraries in rows():
        assert set(kinds.split()) <= {"f", "m", "_"} and kinds, names
        assert set(libraries.split(", ")) <= {"array API", "NumPy", "PyTorch", "SciPy", "JAX", "svod"}, names


def test_no_name_is_given_twice() -> None:
    names = [name for _, listed, kinds, _ in rows() for name in listed.split() if "f" in kinds]
    assert len(names) == len(set(names))
    assert not set(names) & set(vars(_svod)), "the compiled module has it"
    code = "from svod._svod import Tensor; had = set(vars(Tensor)); import svod.library._table as t"
    # The compiled class is looked at before the package gives it methods.
    script = (
        f"import sys, types\nsys.modules['svod'] = p = types.ModuleType('svod')\np.__path__ = [{str(FILES.parent)!r}]"
    )
    script += f"\n{code}\nprint(sorted(had & set(t.METHODS)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted(REPLACED))


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    files = [f"svod.library.{file}" for file in TABLE]
    script = f"import sys, svod; print([f for f in {files} if f in sys.modules]); svod.signbit; svod.Tensor.diff"
    script += f"; print([f for f in {files} if f in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['svod.library.elementwise', 'svod.library.manipulation']"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_names_documentation_and_signatures(name: str) -> None:
    function = getattr(svod, name)
    assert name in dir(svod) and name in svod.__all__
    of_layers = FUNCTIONS[name].file == "nn.functional"
    assert function.__doc__ and function.__module__.startswith("svod.nn.functional" if of_layers else "svod")
    assert pickle.loads(pickle.dumps(function)) is function
    parameters = inspect.signature(function).parameters
    assert ("axis" in parameters) == ("dim" in parameters)
    assert ("keepdims" in parameters) == ("keepdim" in parameters)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_those_of_the_class(name: str) -> None:
    x = svod.Tensor([1.0])
    assert hasattr(x, name) and name in dir(x)
    assert getattr(svod.Tensor, name).__doc__
    assert callable(getattr(x, name))


def test_a_name_that_is_nowhere_is_an_error() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = svod.frobnicate  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = svod.Tensor([1.0]).frobnicate  # type: ignore[attr-defined]


def test_arguments_have_both_spellings() -> None:
    x = svod.Tensor([[1, 4], [9, 16]])
    for given in ({"axis": 0}, {"dim": 0}):
        assert svod.diff(x, **given).tolist() == x.diff(**given).tolist() == [[8, 12]]
    assert svod.diff(input=x, dim=0).tolist() == [[8, 12]]
    assert svod.copysign(input=x, other=-1.0).tolist() == [[-1, -4], [-9, -16]]
    with pytest.raises(svod.ArgumentTypeError, match="diff: axis and dim are one argument"):
        svod.diff(x, axis=0, dim=0)
    with pytest.raises(TypeError, match="nonsense"):
        svod.diff(x, nonsense=0)


def test_lists_and_arrays_become_tensors() -> None:
    for x in ([1, 3, 6], np.array([1, 3, 6]), svod.Tensor([1, 3, 6])):
        assert svod.diff(x, prepend=[0]).tolist() == [1, 2, 3]


def test_methods_that_assign_give_the_tensor_itself() -> None:
    x = svod.Tensor([1.0, -2.0])
    y = x + 0
    assert x.copysign_(-1) is x
    assert (x.tolist(), y.tolist()) == ([-1, -2], [1, -2])
    with pytest.raises(svod.DTypeError, match=r"copysign_.*float32.*int64"):
        svod.Tensor([1]).copysign_(-1)
