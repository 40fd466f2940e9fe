"""Layers: named parameters and the few operations that models are made of.

A layer holds tensors and composes tensor operations; it owns no algorithm and no
compiled code. Parameters are found by walking attributes, so a model is an ordinary
class:

>>> import svod
>>> from svod import nn
>>> class Classifier(nn.Module):
...     def __init__(self) -> None:
...         self.norm = nn.LayerNorm(4)
...         self.heads = [nn.Linear(4, 2), nn.Linear(4, 3)]
>>> [name for name, _ in Classifier().named_parameters()]
['norm.weight', 'norm.bias', 'heads.0.weight', 'heads.0.bias', 'heads.1.weight', 'heads.1.bias']
"""

import sys
from typing import TYPE_CHECKING

from svod._module import LoadedKeys, Module, StateError
from svod.nn import functional, init, utils
from svod.nn._function import FunctionModule
from svod.nn.activation import *  # noqa: F403
from svod.nn.activation import __all__ as _activation
from svod.nn.containers import *  # noqa: F403
from svod.nn.containers import __all__ as _containers
from svod.nn.dropout import *  # noqa: F403
from svod.nn.dropout import __all__ as _dropout
from svod.nn.linear import *  # noqa: F403
from svod.nn.linear import __all__ as _linear
from svod.nn.loss import *  # noqa: F403
from svod.nn.loss import __all__ as _loss
from svod.nn.normalization import *  # noqa: F403
from svod.nn.normalization import __all__ as _normalization
from svod.nn.parameter import Parameter
from svod.nn.recurrent import *  # noqa: F403
from svod.nn.recurrent import __all__ as _recurrent
from svod.nn.resize import *  # noqa: F403
from svod.nn.resize import __all__ as _resize
from svod.nn.spatial import *  # noqa: F403
from svod.nn.spatial import __all__ as _spatial
from svod.nn.transformer import *  # noqa: F403
from svod.nn.transformer import __all__ as _transformer
from svod.nn.windows import *  # noqa: F403
from svod.nn.windows import __all__ as _windows

__all__ = [
    "FunctionModule",
    "LoadedKeys",
    "Module",
    "Parameter",
    "StateError",
    "functional",
    "init",
    "utils",
    *_activation,
    *_containers,
    *_dropout,
    *_linear,
    *_loss,
    *_normalization,
    *_recurrent,
    *_resize,
    *_spatial,
    *_transformer,
    *_windows,
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from svod._elsewhere import missing

        raise missing(sys.modules[__name__], name)
