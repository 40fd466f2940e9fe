"""What `import svod` loads: the compiled module and what calls need, packages when they are first named."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import svod
from svod import nn


def run(program: str) -> list[str]:
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return told.stdout.split()


PACKAGES = ("svod.nn", "svod.onnx", "svod.optim")
LOADED = f"import sys; print(*sorted(name for name in sys.modules if name.startswith({PACKAGES})))"


def test_packages_are_loaded_when_they_are_first_named() -> None:
    assert run(f"import svod; svod.ones(3).sum().item(); {LOADED}") == []
    assert run(f"import svod; svod.jit(lambda x: x + 1)(svod.ones(3)); {LOADED}") == []
    assert "svod.nn" in run(f"import svod; svod.nn; {LOADED}")
    assert "svod.optim" in run(f"import svod; svod.optim.SGD; {LOADED}")
    assert "svod.nn" in run(f"from svod import nn; {LOADED}")
    assert "svod.onnx" in run(f"import svod; svod.onnx.load; {LOADED}")
    assert "svod.onnx.backend" not in run(f"import svod; svod.onnx.load; {LOADED}")
    assert "svod.nn.functional" in run(f"import svod.nn.functional as F; {LOADED}")


def test_packages_are_listed_before_they_are_loaded() -> None:
    assert run("import svod; print(*({'nn', 'optim', 'Tensor', 'jit'} - set(dir(svod))))") == []
    assert run("from svod import *; print(nn.__name__, optim.__name__)") == ["svod.nn", "svod.optim"]


def test_modules_are_found_before_their_package_is_named() -> None:
    # A jitted function is told what modules hold, also where the class is the base itself.
    module = nn.Module()
    module.factor = svod.full((2,), 2.0)
    scaled = svod.jit(lambda x: x * module.factor)
    assert scaled(svod.ones(2)).tolist() == [2.0, 2.0]
    module.factor = svod.full((2,), 3.0)
    assert scaled(svod.ones(2)).tolist() == [3.0, 3.0]


def test_classes_of_packages_are_pickled_by_name() -> None:
    for made in (nn.Module, nn.StateError, nn.Linear, svod.optim.SGD):
        assert pickle.loads(pickle.dumps(made)) is made


@pytest.mark.parametrize("name", ["nn2", "Module"])
def test_other_names_are_errors(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'svod' has no attribute '{name}'"):
        getattr(svod, name)
