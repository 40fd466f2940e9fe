"""What pytest does not collect: the backend of PyTorch's compiler, where there is no PyTorch."""

import importlib.util

try:
    found = importlib.util.find_spec("torch")
except ModuleNotFoundError:
    found = None
collect_ignore = [] if found else ["python/svod/torch"]
