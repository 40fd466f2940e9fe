"""What a jitted function meets of installed packages."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import svod
from svod._reach import Reached, Written


def installed(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package of this text, as an installer puts it."""
    (folder / "site-packages" / name).mkdir(parents=True)
    (folder / "site-packages" / name / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder / "site-packages"))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__(name)


SETTINGS = """
class Settings:
    def __init__(self):
        self.rate = 2.0

    def __getitem__(self, name):
        return self.__dict__[name]

class Constants:
    rate = 2.0

_table = {i: str(i) for i in range(500)}

def named(number):
    return _table[number]

def rate():
    return 2.0

settings = Settings()
number = 2.0
"""


def test_numbers_in_installed_packages_are_conditions_of_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package: Any = installed(tmp_path, "settings_for_tests", SETTINGS, monkeypatch)
    own = package.Settings()

    def function(x: svod.Tensor) -> svod.Tensor:
        assert package.named(3) == "3"
        return x * own.rate * own["rate"] * package.settings.rate * package.Constants.rate * package.number

    f, x = svod.jit(function), svod.Tensor([1.0])
    assert f(x).item() == 32
    for holder, name in (
        (own, "rate"),
        (package.settings, "rate"),
        (package.Constants, "rate"),
        (package, "number"),
    ):
        setattr(holder, name, 6.0)
        assert f(x).item() == function(x).item()
    package.settings = package.Settings()
    assert f(x).item() == function(x).item()


def test_functions_of_packages_that_know_svod_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import svod\nscale = 2.0\nweight = svod.Tensor([3.0])\ndef scaled(x): return x * scale * weight\n"
    package: Any = installed(tmp_path, "layers_for_tests", text, monkeypatch)
    f, x = svod.jit(lambda x: package.scaled(x)), svod.Tensor([1.0])
    assert f(x).item() == 6
    package.scale, package.weight = 5.0, svod.Tensor([7.0])
    assert f(x).item() == 35


def test_a_function_that_names_a_large_package_has_a_small_guard() -> None:
    torch = pytest.importorskip("torch")

    def function(x: Any) -> Any:
        return torch.roll(torch.nn.functional.relu(x), 1) if isinstance(x, torch.Tensor) else svod.relu(x) * 2

    f = svod.jit(function)
    for n in (1, 2, 3):
        assert f(svod.Tensor([-1.0] * n)).tolist() == [0] * n
    assert len(Reached((function,), Written()).guard) < 30
