"""Schedules, targets and strictness, as a user sees them."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(7)


def rows(n: int, m: int) -> np.ndarray:
    return RNG.standard_normal((n, m)).astype(np.float32)


def test_the_chosen_schedule_is_read_and_given_back():
    x = svod.Tensor(rows(64, 100))
    chosen = x.softmax(-1).prepare().kernels[0].schedule
    assert len(chosen) > 0 and chosen.steps == str(chosen).splitlines()
    plan = x.softmax(-1).prepare(schedules={0: chosen})
    assert plan.kernels[0].schedule == chosen


def test_b1_a_schedule_is_a_value_that_is_copied_pickled_and_iterated():
    chosen = svod.Tensor(rows(64, 100)).softmax(-1).prepare().kernels[0].schedule
    for again in (copy.copy(chosen), copy.deepcopy(chosen), pickle.loads(pickle.dumps(chosen))):
        assert again == chosen and hash(again) == hash(chosen) and str(again) == str(chosen)
    assert list(chosen) == chosen.steps


def test_a_schedule_by_name_or_position_makes_the_kernel():
    a = rows(37, 53)
    x = svod.Tensor(a)
    kernel = (x * 2 + 1).prepare().kernels[0]
    loop = kernel.schedule.steps[0].split()[1].rsplit(".", 1)[0]
    given = svod.Schedule(f"UPCAST {loop}.0 4")
    for key in [0, kernel.name]:
        y = x * 2 + 1
        plan = y.prepare(schedules={key: given})
        plan.execute()
        assert plan.kernels[0].schedule == given
        assert "unroll" in plan.kernels[0].loops
        np.testing.assert_array_equal(y.numpy(), a * 2 + 1)


def test_streams_and_prefetches_reach_the_code():
    a = rows(64, 256)
    x = svod.Tensor(a)
    kernel = (x + 1).prepare().kernels[0]
    stage = kernel.schedule.steps[0].split()[1].split(".")[0]
    loop = kernel.schedule.steps[0].split()[1].rsplit(".", 1)[0]
    text = f"{kernel.schedule}\nstream {stage}"
    y = x + 1
    plan = y.prepare(schedules={0: text})
    plan.execute()
    assert "!nontemporal" in plan.kernels[0].source
    np.testing.assert_array_equal(y.numpy(), a + 1)
    y = x + 1
    plan = y.prepare(schedules={0: f"prefetch {loop}.0 p0 8"})
    plan.execute()
    assert "llvm.prefetch" in plan.kernels[0].source
    np.testing.assert_array_equal(y.numpy(), a + 1)


def in_pairs(schedule: svod.Schedule) -> str:
    """The schedule of a product with its depth in pairs, as machines that multiply pairs get it anyway."""
    text = str(schedule)
    if text.startswith("pairs"):
        return text
    stage = next(line.split()[1] for line in schedule.steps if line.startswith("micro"))
    depth = next(line.split()[2] for line in schedule.steps if line.startswith(f"reorder {stage} ")).split(".")[1]
    return f"pairs {stage}\n" + text.replace(f".{depth}.", f".{depth}_pair.")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(33, 64, 24), (50, 65, 40)])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_pairs_are_those_of_their_halves(dtype: str, shape: tuple[int, int, int], transposed: bool):
    m, k, n = shape
    a, b = RNG.integers(-8, 8, (m, k)).astype(np.float32), RNG.integers(-8, 8, (k, n)).astype(np.float32)
    x, y = svod.Tensor(a).cast(dtype).realize(), svod.Tensor(b.T if transposed else b).cast(dtype).realize()

    def product() -> svod.Tensor:
        return x.cast("float32") @ (y.T if transposed else y).cast("float32")

    given = in_pairs(product().prepare().kernels[0].schedule)
    plan = product().prepare(schedules={0: given})
    plan.execute()
    kernel = plan.kernels[0]
    assert (
        str(kernel.schedule).startswith("pairs ")
        and f"pairs {'bf16' if dtype == 'bfloat16' else 'f16'}" in kernel.loops
    )
    np.testing.assert_array_equal(plan.outputs[0].numpy(), a @ b)


def test_b4_a_tile_of_another_stage_says_which_stage_is_a_contraction():
    x = svod.Tensor(rows(32, 32))
    with pytest.raises(svod.ScheduleError, match=r"stage `out` is not a contraction of two operands; `s0` is"):
        (x @ x).prepare(schedules={0: "TC out 6 16"})
    with pytest.raises(svod.ScheduleError, match=r"no stage of this kernel is"):
        (x + 1).prepare(schedules={0: "TC out 6 16"})


def test_pairs_are_refused_where_nothing_is_widened():
    x = svod.Tensor(rows(32, 32))
    kernel = (x @ x).prepare().kernels[0]
    with pytest.raises(svod.ScheduleError, match=r"pairs are of bf16 or f16, .* the operands are f32 and f32"):
        (x @ x).prepare(schedules={0: in_pairs(kernel.schedule)})


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_narrow_products_err_no_more_than_a_loop_in_float32(dtype: str):
    x, y = (svod.Tensor(rows(*shape)).cast(dtype).realize() for shape in [(32, 1500), (1500, 24)])
    a, b = (t.cast("float32").numpy() for t in (x, y))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = np.abs((x.cast("float32") @ y.cast("float32")).numpy() - exact)
    assert found.max() <= np.abs(left_to_right(a[:, None, :] * b.T) - exact).max()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bind out.zz.0 vector", "step 1 of the schedule, `bind out.zz.0 vector`: stage `out` has no loop"),
        ("strict\nmicro out 4 8", "step 2"),
        ("fold out", "line 1 of the schedule, `fold out`: expected split"),
    ],
)
def test_an_illegal_step_is_named_with_its_reason(text: str, says: str):
    x = svod.Tensor(rows(8, 8))
    with pytest.raises(svod.ScheduleError) as raised:
        (x + 1).prepare(schedules={0: text})
    assert isinstance(raised.value, ValueError) and says in str(raised.value)


PRODUCT = [
    ("UPCAST s0.a0.0 4", ""),
    ("UNROLL s0.a2.0 4", ""),
    ("VECTORIZE out.a1.0 8", ""),
    ("THREAD out.a0.0 8", ""),
    ("SWAP s0.a0.0 s0.a1.0", ""),
    ("PADTO s0.a0.0 16", ""),
    ("TILE s0.a0.0 s0.a1.0 4 8", ""),
    ("STAGE s0 1 panels:8 shared", ""),
    ("STREAM out", ""),
    ("PREFETCH s0.a2.0 p0 4", ""),
    ("LOCAL s0.a1.0 8", ""),
    ("GROUP s0.a2.0 8", ""),
    ("bind out.a0.0 block\nLOCAL out.a1.0 16\nat s0 out.a1.0\nGROUP s0.a2.0 16", ""),
    (
        "LOCAL s0.a2.0 8",
        "step 1 of the schedule, `LOCAL s0.a2.0 8` (its `bind s0.a2.1 lane`): lanes of a reduction need",
    ),
    ("LOCAL s0.a1.0 2048", "a group of 2048 lanes; at most 1024"),
    ("STREAM out\nSTREAM out", "step 2 of the schedule, `STREAM out`: the outputs of `out` go past the caches already"),
    ("STREAM s0", "only outputs"),
    ("GROUP s0.a2.0 8\nrfactor s0.a2.1", "step 2 of the schedule, `rfactor s0.a2.1`: its rounds have accumulators"),
    ("PREFETCH s0.a2.0 p0 0", "fetch 1 round ahead at least"),
    ("PREFETCH s0.a1.0 p0 1", "every round of the loop reads the same, for no index of it names `a1`"),
    ("PREFETCH s0.a2.0 p0 48", "of 48 rounds none is 48 ahead of another"),
    ("PREFETCH s0.a2.0 p0 4\nsplit s0.a2.0 by 16 rest", "step 1 of the schedule, `PREFETCH s0.a2.0 p0 4`: of 3 rounds"),
    ("PREFETCH s0.a2.0 p0 4\nUNROLL s0.a2.0 4", ""),
    ("PREFETCH s0.a2.0 p0 4\nbind s0.a2.0 unroll", ""),
    (
        "PREFETCH s0.a1.0 p1 4\nreorder s0 s0.a0.0 s0.a2.0 s0.a1.0\nbind s0.a1.0 vector",
        "only loops whose rounds follow one another",
    ),
    (
        "PREFETCH s0.a2.0 p0 4\nPREFETCH s0.a2.0 p0 2",
        "step 2 of the schedule, `PREFETCH s0.a2.0 p0 2`: `p0` is fetched",
    ),
    ("PREFETCH s0.a2.0 p0 4\nSTAGE s0 p0 rows task", "the stage reads a copy of it instead"),
    ("PREFETCH s0.a2.0 1 1", "of operands only the panels of 1"),
    (
        "THREAD s0.a2.0 8",
        "step 1 of the schedule, `THREAD s0.a2.0 8` (its `bind s0.a2.0 task`): stage `s0` reduces axis `a2`",
    ),
    ("THREAD s0.a0.0 8", "stage `s0` writes no output"),
    ("TC s0 4 8", "step 1 of the schedule, `TC s0 4 8`: rows and columns must be split by 4 and 8"),
    ("UPCAST s0.a0.9 4", "stage `s0` has no loop `s0.a0.9`"),
    ("UPCAST s0.a0.0", "line 1 of the schedule, `UPCAST s0.a0.0`: expected `UPCAST l n`"),
    (
        "bind s0.a0.0 banana",
        "`bind s0.a0.0 banana`: unknown word `banana`, expected one of unroll, vector, task, block, warp, lane",
    ),
    ("split s0.a0.0 by 7 exact", "7 does not provably divide the extent 40"),
    ("PREFETCH s0.a2.0 p9 2", "the stage does not read `p9`"),
    ("parts s0.a2.0 by 0", "step 1 of the schedule, `parts s0.a2.0 by 0`: a split needs a factor of at least 1, not 0"),
    (f"split s0.a2.0 by {1 << 32} rest\nsplit s0.a2.0 by {1 << 32} exact", f"at most {1 << 48} points"),
]


@pytest.mark.parametrize(("text", "says"), PRODUCT, ids=[text.replace("\n", "; ") for text, _ in PRODUCT])
def test_every_spelling_is_taken_or_says_why_not(text: str, says: str):
    a, b = rows(40, 48), rows(48, 64)
    y = svod.Tensor(a) @ svod.Tensor(b)
    if says:
        with pytest.raises(svod.ScheduleError) as raised:
            y.prepare(schedules={0: text})
        assert says in str(raised.value)
    else:
        plan = y.prepare(schedules={0: text})
        plan.execute()
        np.testing.assert_allclose(plan.outputs[0].numpy(), a @ b, rtol=1e-4, atol=1e-4)
        again = (svod.Tensor(a) @ svod.Tensor(b)).prepare(schedules={0: plan.kernels[0].schedule})
        assert again.kernels[0].schedule == svod.Schedule(text) and again.kernels[0].loops == plan.kernels[0].loops


# A tile of 4 rows and 24 columns, of a product of two matrices and of several.
TILED = """split s0.a0.0 by 4 pad
split s0.a1.0 by 24 pad
reorder s0 s0.a0.0 s0.a1.0 s0.a0.1 s0.a1.1 s0.a2.0
stage s0 0 rows task
stage s0 1 panels:24 HOME
micro s0 4 24
"""
BLOCKS = TILED.replace("HOME\n", "task\n").replace("s0.a2.0\n", "s0.a2.1\n").replace("r s0 ", "r s0 s0.a2.0 ")
ROWS_LAST = "split out.a1.0 by 8 rest\nreorder out out.a1.0 out.a0.0 out.a1.1\n"
BATCH = """split s0.a1.0 by 4 pad
split s0.a2.0 by 24 pad
reorder s0 s0.a0.0 s0.a1.0 s0.a2.0 s0.a1.1 s0.a2.1 s0.a3.0
stage s0 0 rows task
stage s0 1 panels:24 task
micro s0 4 24"""
LAST = """split s0.a0.0 by 4 pad
split s0.a1.0 by 24 pad
reorder s0 s0.a2.0 s0.a0.0 s0.a1.0 s0.a0.1 s0.a1.1 s0.a3.0
stage s0 0 rows task
stage s0 1 panels:24 task
at s0.a s0.a0.0
at s0.b s0.a2.0
split s0.a.a0.0 by 4 pad
micro s0 4 24
"""

# What only the loops show: a shape or einsum, the schedule, the step that is named, and the reason.
BY_LOOPS = [
    (
        "sum",
        "TILE out.a1.0 out.a0.0 4 3",
        "step 1 of the schedule, `TILE out.a1.0 out.a0.0 4 3` (its `reorder out",
        "inside of a reduction, the last round of",
    ),
    (
        "map",
        "split out.a0.0 by 3 rest\nbind out.a0.0 task\nbind out.a0.1 unroll",
        "step 3 of the schedule, `bind out.a0.1 unroll`",
        "the last task of `out.a0.0` has fewer points",
    ),
    (
        "map",
        "split out.a0.0 by 3 rest\nbind out.a0.1 unroll\nbind out.a0.0 task",
        "step 3 of the schedule, `bind out.a0.0 task`",
        "the last task of `out.a0.0` has fewer points",
    ),
    (
        "ik,kj->ij",
        f"split s0.a2.0 by 48 rest\n{BLOCKS}at s0.b s0.a2.0\nbind s0.b.a2.0 unroll\nstream out",
        "step 9 of the schedule, `bind s0.b.a2.0 unroll`",
        "`s0.b.a2.0` has up to 48 rounds there",
    ),
    (
        "ik,kj->ij",
        f"split s0.a2.0 by 48 rest\n{BLOCKS}bind s0.b.a2.0 unroll\nat s0.b s0.a2.0",
        "step 9 of the schedule, `at s0.b s0.a2.0`",
        "`s0.b.a2.0` has up to 48 rounds there",
    ),
    (
        "map",
        "PADTO out.a0.0 100000000",
        "step 1 of the schedule, `PADTO out.a0.0 100000000`",
        "full rounds of `out` would visit",
    ),
    ("map", "split out.a0.0 by 100000000 mask", "step 1 of the schedule, `split out", "1024 is the most"),
    (
        "ik,kj->ij",
        "PADTO s0.a0.0 4096\nat s0 out.a0.0",
        "step 2 of the schedule, `at s0 out",
        "full rounds of `s0` would",
    ),
    (
        "ik,kj->ij",
        f"{ROWS_LAST}{TILED.replace('HOME', 'prepared')}at s0 out.a1.0",
        "step 9 of the schedule, `at s0 out.a1.0`",
        "run over the end of the copy",
    ),
    (
        "ik,kj->ij",
        f"{ROWS_LAST}{TILED.replace('HOME', 'task')}at s0 out.a1.0",
        "step 9 of the schedule, `at s0 out.a1.0`",
        "inside of a panel",
    ),
    ("bik,bkj->bij", BATCH, "step 6 of the schedule, `micro s0 4 24`", "the tile would run over the end of a copy"),
    ("bik,bkj->ijb", LAST, "step 9 of the schedule, `micro s0 4 24`", "columns would not lie side by side"),
]


@pytest.mark.parametrize(("of", "text", "step", "why"), BY_LOOPS, ids=[why for *_, why in BY_LOOPS])
def test_what_only_the_loops_show_names_the_step_it_is_due_to(of: str, text: str, step: str, why: str):
    """Issue 4: an illegal one is an error that says which step and why."""
    shapes = {"ik": (64, 200), "kj": (200, 96), "bik": (3, 5, 40), "bkj": (3, 40, 30)}
    if of == "sum":
        y = svod.Tensor(rows(5, 13)).sum(1)
    elif of == "map":
        y = svod.Tensor(rows(8, 2)) + 1
    else:
        y = svod.einsum(of, *(svod.Tensor(RNG.random(shapes[name])) for name in of.split("->")[0].split(",")))
    with pytest.raises(svod.ScheduleError) as raised:
        y.prepare(schedules={0: text})
    assert step in str(raised.value) and why in str(raised.value)


# Illegal lines of each name, for a product of 48 rows, a depth of 40 and 64 columns; which of the steps that it stands
# for, where these are several; and why not.
SPELLED = [
    ("UPCAST s0.a0.0 0", "split s0.a0.0 by 0 rest", "a split needs a factor of at least 1, not 0"),
    ("UPCAST s0.a2.0 4096", "bind s0.a2.1 unroll", "laid out more than 1024 times"),
    ("UNROLL s0.a1.7 4", "split s0.a1.7 by 4 rest", "stage `s0` has no loop `s0.a1.7`"),
    ("VECTORIZE s0.a2.0 8", "bind s0.a2.1 vector", "lanes of a reduction need accumulators of their own"),
    ("LOCAL s0.a2.0 8", "bind s0.a2.1 lane", "lanes of a reduction need accumulators of their own"),
    ("GROUP s0.a1.0 8", "rfactor s0.a1.1", "the stage does not reduce the axis"),
    ("GROUP s0.a2.0 4096", "bind s0.a2.1 lane", "a group of 4096 lanes"),
    ("THREAD s0.a2.0 8", "bind s0.a2.0 task", "stage `s0` reduces axis `a2`"),
    ("SWAP s0.a0.0 out.a1.0", "", "`out.a1.0` is of another stage"),
    ("PADTO s0.a0.0 0", "", "a split needs a factor of at least 1, not 0"),
    ("TC s0 4 8", "", "rows and columns must be split by 4 and 8"),
    ("TILE s0.a0.0 s0.a1.0 4 0", "split s0.a1.0 by 0 rest", "a split needs a factor of at least 1, not 0"),
    ("TILE s0.a0.0 s0.b.0 4 8", "split s0.b.0 by 8 rest", "stage `s0` has no loop `s0.b.0`"),
    ("STAGE s0 p7 rows task", "", "the stage does not read `p7`"),
    ("STREAM s0", "", "only outputs"),
    ("PREFETCH s0.a2.0 p0 0", "", "fetch 1 round ahead at least"),
]


def test_every_spelling_has_an_illegal_line() -> None:
    with pytest.raises(svod.ScheduleError) as raised:
        svod.Schedule("fold out")
    assert {text.split()[0] for text, _, _ in SPELLED} == set(re.findall(r"\b[A-Z]+\b", str(raised.value)))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("text", "part", "why"), SPELLED, ids=[text for text, _, _ in SPELLED])
def test_an_illegal_spelling_is_named_as_it_was_written(text: str, part: str, why: str, strict: bool) -> None:
    """By its number among the lines, whatever those before it stand for; also where strictness is asked for."""
    a, b = svod.Tensor(rows(48, 40)), svod.Tensor(rows(40, 64))
    before = "# Rows of the output are tasks.\nTHREAD out.a0.0 8\n\nVECTORIZE out.a1.0 8   # and columns lanes\n"
    its = f" (its `{part}`)" if part else ""
    for lines, number in [(text, 1), (f"{before}  {text}  # not this\nSTREAM out", 3)]:
        with pytest.raises(svod.ScheduleError) as raised:
            (a @ b).prepare(schedules={0: lines}, strict=strict)
        assert f"step {number} of the schedule, `{text}`{its}: " in str(raised.value)
        assert strict or why in str(raised.value)


def test_schedules_of_a_spelling_and_of_its_steps_are_equal() -> None:
    spelled, steps = (
        svod.Schedule("VECTORIZE out.a0.0 8"),
        svod.Schedule("split out.a0.0 by 8 rest\nbind out.a0.1 vector"),
    )
    assert spelled == steps and hash(spelled) == hash(steps) and str(spelled) == str(steps)
    x = svod.Tensor(rows(1, 256)[0])
    # What a plan gives is its steps.
    given = (x + 1).prepare(schedules={0: spelled}).kernels[0].schedule
    with pytest.raises(
        svod.ScheduleError, match=r"step 2 of the schedule, `bind out.a0.1 vector`: lanes of a reduction"
    ):
        x.sum().prepare(schedules={0: given})


@pytest.mark.parametrize(("first", "number"), [("", 2), ("strict\n", 3)])
def test_strictness_that_is_asked_for_is_no_step_of_the_schedule(first: str, number: int) -> None:
    a, b = svod.Tensor(rows(48, 40)), svod.Tensor(rows(40, 64))
    with pytest.raises(
        svod.ScheduleError, match=f"step {number} of the schedule, `rfactor s0.a2.1`: a strict schedule"
    ):
        (a @ b).prepare(schedules={0: f"{first}split s0.a2.0 by 4 rest\nrfactor s0.a2.1"}, strict=True)


@pytest.mark.parametrize("axis", ["a0", "a1"])
@pytest.mark.parametrize("tail", ["mask", "pad"])
def test_a_sort_has_no_rounds_beyond_its_rows(axis: str, tail: str):
    """They would move points of rows that there are not."""
    order = svod.Tensor(rows(3, 5)).sort(0)[0]
    with pytest.raises(
        svod.ScheduleError, match=f"step 1 of the schedule, `split out.{axis}.0 by 2 {tail}`: a sort moves"
    ):
        order.prepare(schedules={0: f"split out.{axis}.0 by 2 {tail}"})


def test_a_padding_to_some_rounds_is_taken():
    x = svod.Tensor(rows(13, 5))
    plan = (x + 1).prepare(schedules={0: "PADTO out.a0.0 64"})
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), x.numpy() + 1)


def test_a_kernel_that_there_is_not_is_named():
    with pytest.raises(svod.ScheduleError, match="kernel 3, but the plan has one kernel: "):
        (svod.Tensor(rows(8, 8)) + 1).prepare(schedules={3: ""})
    with pytest.raises(svod.ScheduleError, match=r"kernel 'sum', but the plan has no kernels$"):
        svod.Tensor(rows(8, 8)).prepare(schedules={"sum": ""})


def test_schedules_are_values():
    text = "split out.a0.0 by 8 rest\nbind out.a0.1 vector"
    schedule = svod.Schedule(text)
    assert schedule == svod.Schedule("VECTORIZE out.a0.0 8") != svod.Schedule("")
    assert {schedule: 1}[svod.Schedule(str(schedule))] == 1


@pytest.mark.parametrize("name", ["native", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_c10_targets_compute_alike_or_say_that_the_machine_cannot(name: str):
    a, b = rows(33, 65), rows(65, 17)
    widest = {"x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}.get(name, 0)
    if widest > svod.target("native").vector_bytes:
        with pytest.raises(svod.ArgumentError, match="does not have"):
            svod.target(name)
        return
    with svod.target(name):
        x, y = svod.Tensor(a), svod.Tensor(b)
        plan = (x @ y).prepare()
        plan.execute()
        np.testing.assert_allclose(plan.outputs[0].numpy(), a @ b, rtol=1e-4, atol=1e-4)
    if name == "x86-64-v2":
        assert "zmm" not in plan.kernels[0].assembly and "ymm" not in plan.kernels[0].assembly
        assert plan.kernels[0].assembly == (x @ y).prepare(target=name).kernels[0].assembly


def test_c10_an_unknown_target_is_named():
    with pytest.raises(svod.ArgumentError, match="unknown target 'x87': expected native, x86-64-v2"):
        svod.target("x87")


def left_to_right(terms: np.ndarray) -> np.ndarray:
    """The sum along the last axis, one addition after the other in float32."""
    total = np.zeros(terms.shape[:-1], np.float32)
    for k in range(terms.shape[-1]):
        total = total + terms[..., k]
    return total


@pytest.mark.parametrize("n", [1, 7, 64, 1000, 5000])
def test_strict_sums_are_those_of_a_loop(n: int):
    a = rows(5, n)
    with svod.strict():
        x = svod.Tensor(a)
        np.testing.assert_array_equal(x.sum(1).numpy(), left_to_right(a))
        np.testing.assert_array_equal(x.sum(0).numpy(), left_to_right(a.T))
        np.testing.assert_array_equal(x.sum().numpy(), left_to_right(a.reshape(-1)))
        np.testing.assert_array_equal(x.mean(1).numpy(), left_to_right(a) / np.float32(n))


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 33, 9), (64, 300, 48), (1, 64, 257)])
def test_strict_products_are_those_of_a_loop(shape: tuple[int, int, int]):
    m, k, n = shape
    a, b = rows(m, k), rows(k, n)
    want = left_to_right((a[:, None, :] * b.T[None, :, :]).astype(np.float32))
    plan = (svod.Tensor(a) @ svod.Tensor(b)).prepare(strict=True)
    plan.execute()
    assert plan.kernels[0].schedule.steps[0] == "strict"
    np.testing.assert_array_equal(plan.outputs[0].numpy(), want)


def test_strict_softmax_adds_from_left_to_right():
    a = rows(9, 100)
    with svod.strict():
        x = svod.Tensor(a)
        powers = (x - x.max(axis=1, keepdim=True)).exp()
        soft = x.softmax(1).numpy()
        np.testing.assert_array_equal(powers.sum(1).numpy(), left_to_right(powers.numpy()))
        np.testing.assert_array_equal(soft, powers.numpy() / left_to_right(powers.numpy())[:, None])


def test_strict_scans_and_attention_keep_what_was_written():
    x = np.random.default_rng(5).standard_normal(1 << 18, dtype=np.float32)
    with svod.strict():
        np.testing.assert_array_equal(svod.Tensor(x).cumsum(0).numpy(), np.add.accumulate(x, dtype=np.float32))
    # The weights are divided before the product, whose terms are added in order.
    q = np.random.default_rng(6).standard_normal((6, 9), dtype=np.float32)
    v = np.random.default_rng(7).standard_normal((9, 4), dtype=np.float32)
    with svod.strict():
        given = (svod.Tensor(q).softmax(-1) @ svod.Tensor(v)).numpy()
        weights = svod.Tensor(q).softmax(-1).numpy()
    expected = np.zeros((6, 4), np.float32)
    for k in range(9):
        expected += weights[:, k, None] * v[k]
    np.testing.assert_array_equal(given, expected)


def test_strictness_and_target_end_with_their_block():
    a = rows(4, 4000)
    x = svod.Tensor(a)
    with svod.strict(), svod.strict(False):
        assert (x.sum(1)).prepare().kernels[0].schedule.steps[0] != "strict"
    assert (x.sum(1)).prepare().kernels[0].schedule.steps[0] != "strict"
    with svod.strict():
        assert (x.sum(1)).prepare().kernels[0].schedule.steps[0] == "strict"
        with pytest.raises(svod.ScheduleError, match="strict schedule keeps the order"):
            x.sum(1).prepare(schedules={0: str((x.sum(1)).prepare(strict=False).kernels[0].schedule)})


def test_the_example_of_a_product_in_the_docs_is_legal():
    text = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text()
    example = text.split("## A product of matrices")[1].split("```")[1]
    a, b = rows(130, 700), rows(700, 250)
    y = svod.Tensor(a) @ svod.Tensor(b)
    plan = y.prepare(schedules={0: example})
    plan.execute()
    assert "micro 4 x 16" in plan.kernels[0].loops
    np.testing.assert_allclose(y.numpy(), a @ b, rtol=1e-4, atol=1e-3)


def symbolic_product(most: int = 64, depth: int = 96, columns: int = 40, transposed: bool = False):
    m = svod.Variable("m", 1, most)
    a = svod.empty(m, depth)
    b = svod.empty(columns, depth) if transposed else svod.empty(depth, columns)
    return a, b, a @ (b.T if transposed else b)


def test_schedules_by_size_are_given_and_taken():
    a, b, c = symbolic_product()
    small, middle, large = (svod.Schedule(text) for text in ("bind out.a0.0 task", "UPCAST out.a1.0 4", ""))
    given = [("m <= 1", small), ("m*2 <= 20", str(middle)), large]
    plan = c.prepare(inputs=[a, b], schedules={0: given})
    kernel = plan.kernels[0]
    assert [(when, str(s)) for when, s in kernel.schedules] == [
        ("m <= 1", str(small)),
        ("m*2 <= 20", str(middle)),
        (None, str(large)),
    ]
    assert kernel.schedule == large and "variant m <= 1" in kernel.loops
    again = symbolic_product()
    plan_again = again[2].prepare(inputs=list(again[:2]), schedules={0: kernel.schedules})
    assert plan_again.kernels[0].schedules == kernel.schedules
    y = rows(96, 40)
    for m in (1, 2, 10, 11, 64, 1):
        x = rows(m, 96)
        plan.execute(x, y)
        np.testing.assert_allclose(plan.outputs[0].numpy()[:m], x @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "needs one schedule at least"),
        ([("m <= 4", "")], "the last schedule has no condition"),
        (["", ""], "only the last schedule has no condition"),
        ([("rows <= 4", ""), ""], "rows"),
        ([("m < 4", ""), ""], "expected '<='"),
        ([("m <= 1", ""), ("m <= 2", ""), ("m <= 3", ""), ""], "at most 3"),
        ([("m <= 1", "bind out.zz.0 task"), ""], "when m <= 1: step 1 of the schedule"),
    ],
)
def test_schedules_by_size_that_cannot_be_say_why(given: list, says: str):
    a, b, c = symbolic_product()
    with pytest.raises(svod.ScheduleError, match=says):
        c.prepare(inputs=[a, b], schedules={0: given})


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_a_symbolic_product_has_schedules_by_size_and_is_right_at_each(transposed: bool, constant: bool):
    a, b, _ = symbolic_product(512, 512, 1000, transposed)
    y = rows(*((1000, 512) if transposed else (512, 1000)))
    if constant:
        b = svod.Tensor(y)
    plan = (a @ (b.T if transposed else b)).prepare(inputs=[a] if constant else [a, b])
    schedules = plan.kernels[0].schedules
    assert 1 <= len(schedules) <= 3 and schedules[-1][0] is None
    assert constant or len(schedules) > 1
    results = {}
    for threads in (1, 2):
        with svod.PrepareConfig(threads=threads):
            own = (a @ (b.T if transposed else b)).prepare(inputs=[a] if constant else [a, b])
        for m in (1, 2, 3, 4, 5, 16, 17, 100, 512):
            x = np.random.default_rng(m).standard_normal((m, 512)).astype(np.float32)
            own.execute(*([x] if constant else [x, y]))
            got = own.outputs[0].numpy()[:m]
            exact = x.astype(np.float64) @ (y.T if transposed else y)
            np.testing.assert_allclose(got, exact, rtol=1e-4, atol=2e-4)
            # The size chooses, never the number of threads.
            np.testing.assert_array_equal(got, results.setdefault(m, got.copy()))


def test_analysis_tells_of_the_schedule_of_the_present_size():
    a, b, c = symbolic_product(512, 512, 1000)
    plan = c.prepare(inputs=[a, b])
    flops = []
    for m in (1, 512):
        plan.execute(rows(m, 512), rows(512, 1000))
        item = next(i for i in plan.analysis()["items"] if i["analysis"] and i["analysis"]["flops"])
        flops.append(item["analysis"]["flops"])
    assert flops[0] < 8 * 2 * 512 * 1000 and flops[1] >= 2 * 512 * 512 * 1000


def test_rows_of_a_sort_are_around_it() -> None:
    a = np.random.default_rng(0).integers(-99, 99, (40, 30)).astype(np.float32)
    x = svod.Tensor(a)
    for options in ({"strategy": "none"}, {"schedules": {0: svod.Schedule("")}}, {"beam": 1}):
        plan = svod.prepare(x.sort(0)[0], x.argsort(0), **options)
        plan.execute()
        np.testing.assert_array_equal(plan.outputs[0].numpy(), np.sort(a, 0))
        np.testing.assert_array_equal(plan.outputs[1].numpy(), np.argsort(a, 0, kind="stable"))
    with pytest.raises(svod.ScheduleError, match="the rows of a sort are outside of what is sorted"):
        x.sort(0)[0].prepare(schedules={0: "reorder out out.a0.0 out.a1.0 out.a2.0"})


def test_a_long_chain_takes_several_vectors_at_once() -> None:
    x = svod.rand(8192).realize()
    y, short = x, (x + x) * 0.5
    for _ in range(80):
        y = (y + x) * 0.5
    text = str(y.prepare(target="x86-64-v3").kernels[0].schedule)
    assert "by 32 rest" in text and "vector" in text, text
    assert "by 8 rest" in str(short.prepare(target="x86-64-v3").kernels[0].schedule)


@pytest.mark.parametrize("tail", ["mask", "pad", "rest"])
@pytest.mark.parametrize("by", [2, 3])
def test_b1_full_rounds_of_a_batch_write_nothing_beyond_it(tail: str, by: int) -> None:
    a, b = rows(16, 40).reshape(2, 8, 40), rows(80, 31).reshape(2, 40, 31)
    x, y = svod.Tensor(a), svod.Tensor(b)
    chosen = str((x @ y).prepare().kernels[0].schedule)
    assert "direct_store" in chosen
    plan = (x @ y).prepare(schedules={0: f"{chosen}\nsplit s0.a0.0 by {by} {tail}"})
    for _ in range(20):
        plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), a @ b, rtol=1e-5, atol=1e-5)


def test_a_task_may_have_all_columns_of_a_product_with_a_short_depth() -> None:
    """Its rows are then copied once, though the last panel is not full."""
    a, b = svod.empty(10000, 48), svod.empty(48, 200)
    with svod.target("x86-64-v3"):
        plan = (a @ b).prepare(inputs=[a, b])
    assert "split out.a1.0 by 208 rest" in str(plan.kernels[0].schedule)


def test_all_is_loaded_before_anything_is_written_past_the_caches() -> None:
    a, b, c = (svod.Tensor(np.arange(640, dtype=np.float32) + n) for n in range(3))
    steps = "split out.a0.0 by 8 rest\nbind out.a0.1 vector\nstream out"
    plan = svod.prepare(a + b, b * c, a - c, inputs=[a, b, c], schedules={0: steps})
    plan.execute()
    moves = [word for line in plan.kernels[0].linear.splitlines() for word in ("load", "store") if f"{word} p" in line]
    assert moves == ["load"] * 3 + ["store"] * 3
    for got, right in zip(plan.outputs, (a + b, b * c, a - c), strict=True):
        np.testing.assert_array_equal(got.numpy(), right.numpy())


def test_long_bodies_fetch_ahead_what_they_read_from_memory() -> None:
    x = np.random.default_rng(0).standard_normal((1024, 4096)).astype(np.float32)
    t = svod.Tensor(x)
    exps = np.exp(x - x.max(axis=-1, keepdims=True))
    cases = [
        (t.tanh(), np.tanh(x), "prefetch out."),
        (t.softmax(-1), exps / exps.sum(-1, keepdims=True), "prefetch s1."),
        (t.logsumexp(-1), np.log(exps.sum(-1)) + x.max(axis=-1), "prefetch s1."),
        (t.sum(-1), x.sum(-1), None),
        (t + 1, x + 1, None),
        (t[:8].tanh(), np.tanh(x[:8]), None),
    ]
    for value, expected, fetches in cases:
        plan = value.prepare(inputs=[t])
        plan.execute()
        np.testing.assert_allclose(value.numpy(), expected, rtol=2e-6, atol=2e-5 if expected.ndim == 1 else 1e-7)
        text = str(plan.kernels[0].schedule)
        assert fetches in text if fetches else "prefetch" not in text
