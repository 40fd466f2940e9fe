"""The table of cases."""

from cases import contractions, library, memory, models
from cases.case import Case

CASES = [*contractions.CASES, *models.CASES, *memory.CASES, *library.CASES]
# Graphs twice as large as some of them, whose names are their last groups.
DOUBLES = models.DOUBLES

__all__ = ["CASES", "DOUBLES", "Case"]
