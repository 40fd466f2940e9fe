"""Steps of training, each written once over a library that has PyTorch's names, and the libraries that run them."""

from steps.libraries import LIBRARIES, Library
from steps.models import GPU_STEPS, STEPS, Step

__all__ = ["GPU_STEPS", "LIBRARIES", "STEPS", "Library", "Step"]
