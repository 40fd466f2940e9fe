"""What the examples that learn share: a progress bar, and the loss curve as a picture. Both are left out without
tqdm and matplotlib (`pip install svod[examples]`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path


def progress(items: Iterable[int], losses: list[float], quiet: bool = False) -> Iterator[int]:
    """The items, with a bar that tells the last of the losses."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield from items
        return
    bar = tqdm(items, disable=quiet)
    for item in bar:
        yield item
        if losses:
            bar.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)


def save_curve(losses: list[float], path: str | Path) -> bool:
    """Draws the losses to a picture; says whether it could."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.plot(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="loss", yscale="log", title=Path(path).stem)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return True
