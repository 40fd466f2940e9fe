"""The layers' operations as functions of tensors, argument order as in `torch.nn.functional`."""

from svod.nn.functional.activation import *  # noqa: F403
from svod.nn.functional.activation import __all__ as _activation
from svod.nn.functional.assigning import *  # noqa: F403
from svod.nn.functional.assigning import __all__ as _assigning
from svod.nn.functional.composed import *  # noqa: F403
from svod.nn.functional.composed import __all__ as _composed
from svod.nn.functional.ctc import *  # noqa: F403
from svod.nn.functional.ctc import __all__ as _ctc
from svod.nn.functional.dropout import *  # noqa: F403
from svod.nn.functional.dropout import __all__ as _dropout
from svod.nn.functional.embedding import *  # noqa: F403
from svod.nn.functional.embedding import __all__ as _embedding
from svod.nn.functional.fractional import *  # noqa: F403
from svod.nn.functional.fractional import __all__ as _fractional
from svod.nn.functional.heads import *  # noqa: F403
from svod.nn.functional.heads import __all__ as _heads
from svod.nn.functional.layers import *  # noqa: F403
from svod.nn.functional.layers import __all__ as _layers
from svod.nn.functional.loss import *  # noqa: F403
from svod.nn.functional.loss import __all__ as _loss
from svod.nn.functional.resize import *  # noqa: F403
from svod.nn.functional.resize import __all__ as _resize
from svod.nn.functional.sampling import *  # noqa: F403
from svod.nn.functional.sampling import __all__ as _sampling

__all__ = [
    *_activation,
    *_assigning,
    *_composed,
    *_ctc,
    *_dropout,
    *_embedding,
    *_fractional,
    *_heads,
    *_layers,
    *_loss,
    *_resize,
    *_sampling,
]
