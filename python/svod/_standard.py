"""Constants of the Python array API standard, and the latest version of it that svod follows."""

import math

__all__ = ["__array_api_version__", "e", "inf", "nan", "newaxis", "pi"]

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None
__array_api_version__ = "2025.12"
