"""Modules that hold modules, and those that compute nothing of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from svod._module import Module
from svod._svod import ArgumentError, ArgumentTypeError, Tensor
from svod.nn._function import either

__all__ = ["Flatten", "Identity", "ModuleDict", "ModuleList", "Sequential", "Unflatten"]


class Identity(Module):
    """Gives what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """Makes the axes from `start_dim` to `end_dim`, both included, one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes one axis several, of the extents `unflattened_size`."""

    def __init__(
        self, dim: int | None = None, unflattened_size: Iterable[int] = (), *, axis: int | None = None
    ) -> None:
        along = either(dim, axis)
        if along is None:
            raise ArgumentTypeError("Unflatten: dim: along which axis?")
        self.dim, self.unflattened_size = along, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class _Listed(Module):
    """Modules by position, named `0`, `1`, …"""

    def __init__(self, modules: Iterable[Module]) -> None:
        for position, module in enumerate(modules):
            setattr(self, str(position), module)

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, position: int) -> Module:
        return list(self.children())[position]

    def __setitem__(self, position: int, module: Module) -> None:
        setattr(self, str(range(len(self))[position]), module)

    def append(self, module: Module) -> None:
        """Adds a module after the others."""
        setattr(self, str(len(self)), module)


class Sequential(_Listed):
    """Modules one after the other, each given what the one before it gave.

    >>> import svod
    >>> from svod import nn
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.Flatten(0))
    >>> model(svod.zeros((2, 4))).shape
    (6,)
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Tensor) -> Tensor:
        for module in self:
            x = module(x)
        return x


class ModuleList(_Listed):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__(modules)


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        for name, module in (modules or {}).items():
            self[name] = module

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.named_children())

    def __contains__(self, name: str) -> bool:
        return name in dict(self.named_children())

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def __setitem__(self, name: str, module: Module) -> None:
        if "." in name or hasattr(ModuleDict, name):
            raise ArgumentError(f"ModuleDict: a module cannot be named {name!r}: that is an attribute, or has a dot")
        setattr(self, name, module)

    def keys(self) -> list[str]:
        """The names."""
        return list(self)

    def values(self) -> list[Module]:
        """The modules."""
        return list(self.children())

    def items(self) -> list[tuple[str, Module]]:
        """The modules with their names."""
        return list(self.named_children())
