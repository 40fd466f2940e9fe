"""A process that compiles and times candidates of a search (`strategy="beam"`); svod starts it."""

from svod._svod import _serve

if __name__ == "__main__":
    _serve()
