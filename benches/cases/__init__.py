"""The table of cases."""

from cases import contractions, memory, models
from cases.case import Case

CASES = [*contractions.CASES, *models.CASES, *memory.CASES]

__all__ = ["CASES", "Case"]
