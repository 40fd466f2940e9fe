"""Convolutions, pools, normalizations and attention.

Weights of convolutions are finite: how often a zero between or around elements meets an infinite one is not said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.drawing import Draw
from fuzz.numbers import FLOATS
from fuzz.program import Arguments, Operation


def picture(d: Draw, spatial: int) -> int:
    """`[batch, channels, ..]` with so many further axes: a value or a new input."""
    found = d.value(FLOATS, least=spatial + 2, most=spatial + 2, where=lambda shape: 0 not in shape)
    if found is not None and d.rng.random() < 0.6:
        return found
    shape = (d.rng.choice((1, 2)), d.rng.choice((1, 2, 3, 4)), *(d.rng.choice((3, 4, 5, 7)) for _ in range(spatial)))
    return d.new(shape, d.rng.choice([t for t in d.dtypes if t in FLOATS] or ["float32"]))


def numbers(d: Draw, spatial: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(d.rng.randrange(low, high + 1) for _ in range(spatial))


def convolved(spatial: int) -> Callable[[Draw], Arguments | None]:
    def draw(d: Draw) -> Arguments | None:
        x = picture(d, spatial)
        channels = d.shape(x)[1]
        groups = d.rng.choice([1, 1, *(g for g in (2, channels) if channels % g == 0)])
        kernel = numbers(d, spatial, 1, 3)
        weight = d.new((groups * d.rng.randrange(1, 4), channels // groups, *kernel), d.dtypes[x], plain=True)
        bias = d.new((d.shape(weight)[0],), d.dtypes[x])
        return (x, weight, bias), {
            "stride": numbers(d, spatial, 1, 2),
            "padding": numbers(d, spatial, 0, 2),
            "dilation": numbers(d, spatial, 1, 2),
            "groups": groups,
        }

    return draw


def transposed(spatial: int) -> Callable[[Draw], Arguments | None]:
    def draw(d: Draw) -> Arguments | None:
        x = picture(d, spatial)
        channels = d.shape(x)[1]
        groups = d.rng.choice([1, 1, *(g for g in (2, channels) if channels % g == 0)])
        out = d.rng.randrange(1, 4)
        kernel = numbers(d, spatial, 1, 3)
        weight = d.new((channels, out, *kernel), d.dtypes[x], plain=True)
        bias = d.new((out * groups,), d.dtypes[x])
        stride = numbers(d, spatial, 1, 3)
        return (x, weight, bias), {
            "stride": stride,
            "padding": tuple(d.rng.randrange(k) for k in kernel),
            "more": tuple(d.rng.randrange(s) for s in stride),
            "groups": groups,
            "dilation": numbers(d, spatial, 1, 2),
        }

    return draw


def pooled(spatial: int) -> Callable[[Draw], Arguments | None]:
    def draw(d: Draw) -> Arguments | None:
        x = picture(d, spatial)
        kernel = numbers(d, spatial, 1, 3)
        return (x,), {
            "kernel": kernel,
            "stride": numbers(d, spatial, 1, 3),
            "padding": tuple(d.rng.randrange(k // 2 + 1) for k in kernel),
            "dilation": numbers(d, spatial, 1, 2),
            "counted": d.rng.random() < 0.5,
        }

    return draw


def adapted(spatial: int) -> Callable[[Draw], Arguments | None]:
    def draw(d: Draw) -> Arguments | None:
        x = picture(d, spatial)
        size: Any = tuple(d.rng.randrange(1, extent + 2) for extent in d.shape(x)[2:])
        return (x,), {"size": size}

    return draw


def columns(d: Draw) -> Arguments | None:
    x = picture(d, 2)
    names = {"stride": (1, 2), "padding": (0, 1), "dilation": (1, 2), "kernel": (1, 3)}
    return (x,), {name: numbers(d, 2, *bounds) for name, bounds in names.items()}


def channels(d: Draw) -> Arguments | None:
    """A picture and, for each channel, a mean, a variance, a scale and a shift."""
    x = picture(d, d.rng.choice((1, 2)))
    count = d.shape(x)[1]
    return (
        x,
        *(d.new((count,), d.dtypes[x], low, 4.0) for low in (-4.0, 0.5, -4.0, -4.0)),
    ), {"groups": d.rng.choice([g for g in (1, 2, count) if count % g == 0])}


def rows(d: Draw) -> Arguments | None:
    """Rows of some extent, a scale and a shift."""
    x = d.value(FLOATS, least=1, where=lambda shape: shape[-1] > 1)
    if x is None or (d.is_symbolic and d.shape(x)[-1] == d.sizes[0]):
        return None
    extent = d.shape(x)[-1]
    return (x, d.new((extent,), d.dtypes[x]), d.new((extent,), d.dtypes[x])), {"extent": extent}


def attended(d: Draw) -> Arguments | None:
    """Queries, keys, values and a mask that hides no row whole."""
    q = d.value(FLOATS, least=2, most=4, where=lambda shape: 0 not in shape)
    if q is None:
        return None
    *lead, length, depth = d.shape(q)
    keys = d.rng.choice((length, 3, 7, 20))
    k = d.new((*lead, keys, depth), d.dtypes[q])
    v = d.new((*lead, keys, d.rng.choice((depth, 2, 5))), d.dtypes[q])
    return (q, k, v, d.new((length, keys), d.dtypes[q])), {}


def pooled_rows(d: Draw) -> Arguments | None:
    x = d.value(FLOATS, least=3, most=3, where=lambda shape: 0 not in shape)
    return None if x is None else ((x, d.new(d.shape(x)[:2], "bool")), {})


CONV = "{stride}, {padding}, {dilation}, {groups}"
BACK = "{stride}, {padding}, {more}, {groups}, {dilation}"


def table() -> list[Operation]:
    found: list[tuple[tuple[str, ...], str, Callable[[Draw], Arguments | None]]] = []
    for n in (1, 2, 3):
        c, t, m, a = f"conv{n}d", f"conv_transpose{n}d", f"max_pool{n}d", f"avg_pool{n}d"
        max_arguments = "{kernel}, {stride}, {padding}, {dilation}"
        mean_arguments = "{kernel}, {stride}, {padding}, False, {counted}"
        found += [
            (
                (f"{{0}}.{c}({{1}}, {{2}}, {CONV})", f"F.{c}({{0}}, {{1}}, {{2}}, {CONV})",
                 f"{{0}}.conv({{1}}, {{2}}, {CONV})", f"F.conv({{0}}, {{1}}, {{2}}, {CONV})"),
                f"R.conv({{0}}, {{1}}, {{2}}, {CONV})", convolved(n),
            ),
            (
                (f"{{0}}.{t}({{1}}, {{2}}, {BACK})", f"F.{t}({{0}}, {{1}}, {{2}}, {BACK})",
                 f"{{0}}.conv_transpose({{1}}, {{2}}, {BACK})", f"F.conv_transpose({{0}}, {{1}}, {{2}}, {BACK})"),
                f"R.conv_transpose({{0}}, {{1}}, {{2}}, {BACK})", transposed(n),
            ),
            (
                (f"{{0}}.{m}({max_arguments})", f"F.{m}({{0}}, {max_arguments})", f"{{0}}.max_pool({max_arguments})",
                 f"F.max_pool({{0}}, {max_arguments})"),
                f"R.max_pool({{0}}, {max_arguments})", pooled(n),
            ),
            (
                (f"{{0}}.{a}({mean_arguments})", f"F.{a}({{0}}, {mean_arguments})", f"{{0}}.avg_pool({mean_arguments})",
                 f"F.avg_pool({{0}}, {mean_arguments})"),
                "R.avg_pool({0}, {kernel}, {stride}, {padding}, {counted})", pooled(n),
            ),
            (
                (f"{{0}}.adaptive_{a}({{size}})", f"F.adaptive_{a}({{0}}, {{size}})", "{0}.adaptive_avg_pool({size})",
                 "F.adaptive_avg_pool({0}, {size})"),
                "R.adaptive_avg_pool({0}, {size})", adapted(n),
            ),
        ]  # fmt: skip
    found += [
        (("{0}.im2col({kernel}, {stride}, {padding}, {dilation})",
          "F.unfold({0}, {kernel}, {dilation}, {padding}, {stride})"),
         "R.im2col({0}, {kernel}, {stride}, {padding}, {dilation})", columns),
        (("{0}.batch_norm({1}, {2}, {3}, {4})", "F.batch_norm({0}, {1}, {2}, {3}, {4})"),
         "R.by_channel(({0} - R.channel({1}, {0})) / R.channel(np.sqrt({2} + 1e-5), {0}), {3}, {4})", channels),
        (("{0}.batch_norm(None, None, {3}, {4})", "F.batch_norm({0}, None, None, {3}, {4}, training=True)"),
         "R.by_channel(R.standard({0}, (0, *range(2, {0}.ndim))), {3}, {4})", channels),
        (("{0}.group_norm({groups}, {3}, {4})", "F.group_norm({0}, {groups}, {3}, {4})"),
         "R.by_channel(R.group_norm({0}, {groups}), {3}, {4})", channels),
        (("{0}.instance_norm({3}, {4})", "F.instance_norm({0}, None, None, {3}, {4})"),
         "R.by_channel(R.standard({0}, tuple(range(2, {0}.ndim))), {3}, {4})", channels),
        (("{0}.layer_norm({1}, {2})", "F.layer_norm({0}, {extent}, {1}, {2})"), "R.standard({0}, (-1,)) * {1} + {2}",
         rows),
        (("{0}.rms_norm({1})", "F.rms_norm({0}, {extent}, {1}, 1e-6)"),
         "{0} / np.sqrt(np.mean({0} * {0}, -1, keepdims=True) + 1e-6) * {1}", rows),
        (("{0}.scaled_dot_product_attention({1}, {2})", "F.scaled_dot_product_attention({0}, {1}, {2})"),
         "R.attention({0}, {1}, {2})", attended),
        (("{0}.scaled_dot_product_attention({1}, {2}, {3})", "F.scaled_dot_product_attention({0}, {1}, {2}, {3})"),
         "R.attention({0}, {1}, {2}, {3})", attended),
        (("{0}.scaled_dot_product_attention({1}, {2}, is_causal=True)",
          "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal=True)"),
         "R.attention({0}, R.finite({1}), R.finite({2}), R.causal({0}, {1}))", attended),
        (("({0} @ {1}.mT + {3}).softmax(-1) @ {2}",), "R.softmax({0} @ np.swapaxes({1}, -1, -2) + {3}, -1) @ {2}",
         attended),
        (("F.mean_pool({0}, {1})",), "R.mean_pool({0}, {1})", pooled_rows),
    ]  # fmt: skip
    return [Operation(svod, numpy, draw, "0", smooth=True) for svod, numpy, draw in found]
