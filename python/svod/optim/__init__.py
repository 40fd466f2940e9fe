"""Optimizers: rules by which parameters follow their gradients, and schedules of the rate at which they do.

Names, arguments and state dicts are PyTorch's. What a step computes is one graph with the gradients themselves, so that
backward and update are compiled together and all tensors are written by one run:

>>> import svod
>>> w = svod.Tensor([4.0, -2.0]).requires_grad_()
>>> optimizer = svod.optim.SGD([w], lr=0.25)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     (w**2).sum().backward()
...     optimizer.step()
>>> w.tolist()
[0.5, -0.25]

Numbers such as the rate are arguments of what is compiled: changing one, as the schedules in `lr_scheduler` do,
compiles nothing.
"""

from svod.optim import lr_scheduler
from svod.optim._adaptive import Adadelta, Adagrad, RMSprop
from svod.optim._factored import Adafactor
from svod.optim._lbfgs import LBFGS
from svod.optim._moments import LAMB, Adam, Adamax, AdamW, NAdam, RAdam
from svod.optim._momentum import ASGD, SGD, Muon
from svod.optim._optimizer import Optimizer, ParamGroup
from svod.optim._signs import Lion, Rprop

__all__ = [
    "ASGD",
    "LAMB",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "ParamGroup",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
