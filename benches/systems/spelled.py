"""How each system spells functions of the family `library`: by the module's own name, or as a row here says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from systems.base import Unsupported

Spelled = dict[str, Callable[..., Any]]


def found(name: str, spelled: Spelled, *modules: Any) -> Callable[..., Any]:
    """The function of this name, of a table or else of the first module that has it."""
    if name in spelled:
        return spelled[name]
    for module in modules:
        function: Callable[..., Any] | None = getattr(module, name, None)
        if function is not None:
            return function
    raise Unsupported(f"it has no {name}")


def numpy(name: str) -> Callable[..., Any]:
    """NumPy's, or SciPy's where NumPy has none."""
    import numpy as np

    try:
        from scipy import spatial, special
    except ImportError as error:
        raise Unsupported("SciPy is not installed") from error
    spelled: Spelled = {
        "digamma": special.psi,
        "lgamma": special.gammaln,
        "cdist": spatial.distance.cdist,
        "igamma": special.gammainc,
        "logcumsumexp": lambda x: np.logaddexp.accumulate(x, 1),
        "median": lambda x: np.median(x, 1),
        "nanmean": lambda x: np.nanmean(x, 1),
        "quantile": lambda x: np.quantile(x, 0.9, 1).astype(x.dtype),
        "std": lambda x: np.std(x, 1),
        "cumprod": lambda x: np.cumprod(x, 1),
        "searchsorted": np.searchsorted,
        "bincount": lambda x: np.bincount(x, minlength=1000),
        "histogram": lambda x: np.histogram(x, 100, (-4, 4))[0].astype(np.float64),
        "isin": np.isin,
        "diff": lambda x: np.diff(x, axis=1),
        "roll": lambda x: np.roll(x, 7, 0),
        "tile": lambda x: np.tile(x, (2, 2)),
        "rot90": lambda x: np.ascontiguousarray(np.rot90(x)),
        "reflect": lambda x: np.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)), mode="reflect"),
        "cross": lambda x, y: np.cross(x, y),
        "lstsq": lambda x, y: np.linalg.lstsq(x, y)[0],
        "eigvalsh": np.linalg.eigvalsh,
        "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
        "logdet": lambda x: np.linalg.slogdet(x)[1],
        "rfft": np.fft.rfft,
        "fft2": np.fft.fft2,
        "irfft": np.fft.irfft,
        "masked": lambda x, mask: np.where(mask > 0, np.nan_to_num(x), -1.0),
    }
    return found(name, spelled, np, special, np.linalg)


def torch(name: str) -> Callable[..., Any]:
    """PyTorch's."""
    import torch as t

    spelled: Spelled = {
        "median": lambda x: t.quantile(x, 0.5, 1),
        "nanmean": lambda x: t.nanmean(x, 1),
        "quantile": lambda x: t.quantile(x, 0.9, 1),
        "std": lambda x: t.std(x, 1, correction=0),
        "cumprod": lambda x: t.cumprod(x, 1),
        "logcumsumexp": lambda x: t.logcumsumexp(x, 1),
        "searchsorted": t.searchsorted,
        "bincount": lambda x: t.bincount(x, minlength=1000),
        "histogram": lambda x: t.histc(x, 100, -4, 4),
        "diff": lambda x: t.diff(x, dim=1),
        "roll": lambda x: t.roll(x, 7, 0),
        "tile": lambda x: t.tile(x, (2, 2)),
        "rot90": lambda x: t.rot90(x),
        "reflect": lambda x: t.nn.functional.pad(x, (3, 3, 3, 3), mode="reflect"),
        "cross": t.linalg.cross,
        "lstsq": lambda x, y: t.linalg.lstsq(x, y)[0],
        "logdet": lambda x: t.linalg.slogdet(x)[1],
        "masked": lambda x, mask: t.where(mask > 0, t.nan_to_num(x), -1.0),
        "inv": t.linalg.inv,
        "solve": t.linalg.solve,
        "cholesky": t.linalg.cholesky,
        "igamma": t.special.gammainc,
    }
    return found(name, spelled, t, t.special, t.linalg, t.fft)


def jax(name: str) -> Callable[..., Any]:
    """JAX's."""
    from jax import lax, scipy
    from jax import numpy as jnp

    spelled: Spelled = {
        "lgamma": scipy.special.gammaln,
        "igamma": scipy.special.gammainc,
        "logcumsumexp": lambda x: lax.cumlogsumexp(x, 1),
        "median": lambda x: jnp.median(x, 1),
        "nanmean": lambda x: jnp.nanmean(x, 1),
        "quantile": lambda x: jnp.quantile(x, 0.9, 1),
        "std": lambda x: jnp.std(x, 1),
        "cumprod": lambda x: jnp.cumprod(x, 1),
        "bincount": lambda x: jnp.bincount(x, length=1000),
        "histogram": lambda x: jnp.histogram(x, 100, (-4, 4))[0],
        "diff": lambda x: jnp.diff(x, axis=1),
        "roll": lambda x: jnp.roll(x, 7, 0),
        "tile": lambda x: jnp.tile(x, (2, 2)),
        "reflect": lambda x: jnp.pad(x, ((0, 0), (0, 0), (3, 3), (3, 3)), mode="reflect"),
        "lstsq": lambda x, y: jnp.linalg.lstsq(x, y)[0],
        "svdvals": lambda x: jnp.linalg.svd(x, compute_uv=False),
        "logdet": lambda x: jnp.linalg.slogdet(x)[1],
        "cdist": lambda x, y: jnp.sqrt(((x[:, None] - y[None]) ** 2).sum(-1)),
        "masked": lambda x, mask: jnp.where(mask > 0, jnp.nan_to_num(x), -1.0),
    }
    return found(name, spelled, jnp, scipy.special, jnp.linalg, jnp.fft)


def svod(name: str) -> Callable[..., Any]:
    """svod's."""
    import svod as s

    spelled: Spelled = {
        "median": lambda x: s.quantile(x, 0.5, 1),
        "nanmean": lambda x: s.nanmean(x, 1),
        "quantile": lambda x: s.quantile(x, 0.9, 1),
        "std": lambda x: s.std(x, axis=1),
        "cumprod": lambda x: s.cumprod(x, 1),
        "logcumsumexp": lambda x: s.logcumsumexp(x, 1),
        # The number of bins is computed by `svod.bincount`, which reads the data; here it is known.
        "bincount": lambda x: x._bincount(minlength=1000),
        "histogram": lambda x: s.histc(x, 100, -4, 4),
        "diff": lambda x: s.diff(x, axis=1),
        "roll": lambda x: s.roll(x, 7, axis=0),
        "tile": lambda x: s.tile(x, (2, 2)),
        "rot90": lambda x: s.rot90(x),
        "reflect": lambda x: s.nn.functional.pad(x, (3, 3, 3, 3), mode="reflect"),
        "lstsq": lambda x, y: s.linalg.lstsq(x, y).solution,
        "logdet": lambda x: s.linalg.slogdet(x).logabsdet,
        "masked": lambda x, mask: s.where(mask > 0, s.nan_to_num(x), -1.0),
    }
    return found(name, spelled, s, s.linalg, s.fft)
