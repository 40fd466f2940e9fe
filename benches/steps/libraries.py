"""What differs between the libraries: tensors of arrays, parameters, and how a step is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Loss = Callable[..., Any]


class Library:
    """A library with modules `nn`, `nn.functional` and `optim` of PyTorch's names, on a device: CPU or CUDA."""

    # Of parameters.
    dtype = "float32"

    def __init__(self, name: str, device: str = "CPU") -> None:
        self.device = device
        self.module = importlib.import_module(name)
        self.nn = importlib.import_module(f"{name}.nn")
        self.functional = importlib.import_module(f"{name}.nn.functional")
        self.optim = importlib.import_module(f"{name}.optim")

    def tensor(self, array: Array) -> Any:
        """A tensor with these elements."""
        raise NotImplementedError

    def parameter(self, array: Array) -> Any:
        """What a module has as a parameter."""
        raise NotImplementedError

    def permute(self, value: Any, *axes: int) -> Any:
        """The same elements with axes in another order."""
        return value.permute(*axes)

    def numbers(self, parameter: Any) -> Array:
        """The elements of a parameter."""
        found: Array = parameter.detach().numpy()
        return found

    def cast(self, value: Any) -> Any:
        """Floats as ones of the type of parameters; other values as they are."""
        floats = self.dtype != "float32" and "float" in str(value.dtype)
        return value.to(getattr(self.module, self.dtype)) if floats else value

    def load(self, model: Any, weights: dict[str, Array]) -> None:
        """Gives the parameters of a model these values, and lets them require gradients."""
        raise NotImplementedError

    def step(self, model: Any, loss: Loss, optimizer: Any) -> Callable[..., Any]:
        """Takes a step, and gives the loss before it."""

        def step(*batch: Any) -> Any:
            optimizer.zero_grad()
            value = loss(model, *batch)
            value.backward()
            optimizer.step()
            return value

        return step

    def update(self, optimizer: Any, gradients: Sequence[Any]) -> Callable[[], Any]:
        """A step of an optimizer, whose parameters have these gradients."""
        raise NotImplementedError

    def place(self, model: Any) -> None:
        """Puts a model on the device, its floats as ones of the type of parameters."""

    def optimizer(self, name: str, model: Any, **options: Any) -> Any:
        """An optimizer of what a model has once it is where it is to be."""
        self.place(model)
        return getattr(self.optim, name)(model.parameters(), **options)

    def wait(self) -> None:
        """Until the device has done what it was given."""


class Svod(Library):
    """svod: a step under `jit`."""

    def __init__(self, device: str = "CPU") -> None:
        super().__init__("svod", device)
        if device != "CPU":
            self.module.set_default_device(device)

    def tensor(self, array: Array) -> Any:
        return self.module.Tensor(array)

    def place(self, model: Any) -> None:
        if self.dtype != "float32":
            model.to(getattr(self.module, self.dtype))

    def wait(self) -> None:
        if self.device != "CPU":
            self.module.synchronize()

    parameter = tensor

    def load(self, model: Any, weights: dict[str, Array]) -> None:
        # What requires a gradient is assigned to, so that the optimizer goes on with it.
        model.requires_grad_()
        model.load_state_dict(weights, strict=False)

    def step(self, model: Any, loss: Loss, optimizer: Any) -> Callable[..., float]:
        plain = super().step(model, loss, optimizer)

        def whole(*batch: Any) -> Any:
            value = plain(*batch)
            # Gradients are results of the step where they stay.
            optimizer.zero_grad()
            return value

        jitted = self.module.jit(whole)
        return lambda *batch: float(jitted(*batch).item())

    def update(self, optimizer: Any, gradients: Sequence[Any]) -> Callable[[], Any]:
        jitted: Callable[[], Any] = self.module.jit(lambda: optimizer.step(gradients))
        return jitted


class Torch(Library):
    """PyTorch, eager."""

    def __init__(self, device: str = "CPU") -> None:
        super().__init__("torch", device)
        # What is in f32 is computed in f32.
        self.module.backends.cudnn.allow_tf32 = False

    def tensor(self, array: Array) -> Any:
        return self.module.from_numpy(array).to(self.device.lower())

    def parameter(self, array: Array) -> Any:
        return self.nn.Parameter(self.tensor(array.copy()))

    def numbers(self, parameter: Any) -> Array:
        return super().numbers(parameter.cpu())

    def place(self, model: Any) -> None:
        model.to(self.device.lower(), getattr(self.module, self.dtype))

    def wait(self) -> None:
        if self.device != "CPU":
            self.module.cuda.synchronize()

    def load(self, model: Any, weights: dict[str, Array]) -> None:
        model.load_state_dict({name: self.tensor(array.copy()) for name, array in weights.items()}, strict=False)

    def step(self, model: Any, loss: Loss, optimizer: Any) -> Callable[..., float]:
        plain = super().step(model, loss, optimizer)
        return lambda *batch: float(plain(*batch).item())

    def update(self, optimizer: Any, gradients: Sequence[Any]) -> Callable[[], Any]:
        parameters = optimizer.param_groups[0]["params"]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return lambda: optimizer.step()


class Compiled(Torch):
    """PyTorch, forward and backward by `torch.compile`."""

    def step(self, model: Any, loss: Loss, optimizer: Any) -> Callable[..., float]:
        return super().step(model, self.module.compile(loss), optimizer)

    def update(self, optimizer: Any, gradients: Sequence[Any]) -> Callable[[], Any]:
        compiled: Callable[[], Any] = self.module.compile(super().update(optimizer, gradients))
        return compiled


class Jax(Library):
    """JAX, the whole step jitted, which is given parameters and state to keep."""

    def __init__(self, device: str = "CPU") -> None:
        self.device = device
        self.module = importlib.import_module("steps.jaxes")
        self.nn, self.functional, self.optim = self.module.nn, self.module.functional, self.module.optim

    def tensor(self, array: Array) -> Any:
        return self.module.array(array)

    parameter = tensor

    def permute(self, value: Any, *axes: int) -> Any:
        return value.transpose(axes)

    def numbers(self, parameter: Any) -> Array:
        return np.asarray(parameter)

    def load(self, model: Any, weights: dict[str, Array]) -> None:
        for name, array in weights.items():
            model.put(name, self.tensor(array))

    def step(self, model: Any, loss: Loss, optimizer: Any) -> Callable[..., float]:
        taken: Callable[..., float] = self.module.stepped(model, loss, optimizer)
        return taken

    def update(self, optimizer: Any, gradients: Sequence[Any]) -> Callable[[], Any]:
        taken: Callable[[], Any] = self.module.updated(optimizer, gradients)
        return taken


LIBRARIES = {"svod": Svod, "torch": Torch, "torch.compile": Compiled, "jax": Jax}
