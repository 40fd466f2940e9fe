"""Random programs over the public API, checked against NumPy.

A program is a list of statements, each with two spellings, svod's and NumPy's (`operations`). It is drawn by
running NumPy's (`drawing`), run by svod in one of several ways (`modes`), and made smaller when svod's numbers are
others (`shrink`). `python -m fuzz` runs as many as there is time for.
"""
