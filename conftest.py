"""What pytest does not collect: what needs PyTorch or the package `onnx`, where these are not."""

import importlib.util

# Paths by the module that they need.
NEEDS = {"torch": "python/svod/torch", "onnx": "python/svod/onnx/backend.py"}


def is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [path for name, path in NEEDS.items() if not is_there(name)]
