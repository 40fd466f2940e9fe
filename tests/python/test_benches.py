"""Every system of the benchmarks spells every case so that NumPy's result in f64 comes out, on small operands."""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

BENCHES = Path(__file__).parents[2] / "benches"
sys.path.insert(0, str(BENCHES))

import gpu_report  # noqa: E402
import gpu_worker  # noqa: E402
import training_steps  # noqa: E402
from everyday import checked, work  # noqa: E402
from steps import GPU_STEPS, STEPS, Step  # noqa: E402
from steps import models as trained  # noqa: E402
from worker import error  # noqa: E402

from cases import CASES, contractions, gpu, library, memory, models  # noqa: E402
from cases.case import Case  # noqa: E402
from programs import PROGRAMS  # noqa: E402
from systems import SYSTEMS  # noqa: E402
from systems.base import Job, Unsupported  # noqa: E402
from systems.numpy import reference  # noqa: E402

# What explains the others, and figures of the design's proofs, each with its command.
NO_FIGURES = ("README", "proofs")
FULL = os.environ.get("SVOD_TEST_FULL") == "1"
TESTED = [name for name in SYSTEMS if FULL or name in ("svod", "svod-fresh", "numpy", "torch")]
SMALL = [
    *(contractions.matmul(3, 5, 4, transposed) for transposed in ("", "a", "b")),
    contractions.matmul(1, 5, 4),
    contractions.batched(3, 5, 4, 2),
    contractions.linear_gelu(3, 5, 7),
    contractions.typed("float64", 6, 1e-10),
    contractions.typed("bfloat16", 6, 2e-2),
    contractions.attention(2, 3, 5, 4),
    contractions.attention(2, 3, 5, 4, causal=True),
    contractions.conv("strided", (2, 3, 9, 7), 4, 3, stride=2, padding=1),
    contractions.conv("depthwise", (2, 4, 5, 6), 4, 3, groups=4),
    models.transformer_block(2, 5),
    models.minilm(2, 5),
    models.deep_network(3, 2, 8),
    models.chain(20, (7,)),
    *memory.elementwise(70),
    *memory.reductions(70, (9, 9)),
    *memory.softmaxes((9, 9), (5, 11)),
    *memory.norms((5, 12), (2, 6, 3, 4), 3),
    *memory.layouts((9, 9), (2, 3, 4, 5), (3, 3)),
    *memory.scans((9, 9)),
    *memory.lookups(30, (10, 4), 3),
    memory.adam(3, (2, 5)),
    *library.elementwise(70),
    *library.folds(7, 9),
    *library.positions(50),
    *library.layouts((9, 7), (2, 3, 5, 6)),
    *library.products(40, 3, 11),
    *library.factors(2000, 24),
    *library.spectra(3, 12),
    *gpu.SMALL,
]


@cache
def expected(name: str) -> list[np.ndarray]:
    (case,) = (case for case in SMALL if case.name == name)
    return reference(Job(case.program, case.inputs(), case.weights(), 1))


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
@pytest.mark.parametrize("name", TESTED)
def test_result(name: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = SYSTEMS[name]
    if reason := system.missing():
        pytest.skip(reason)
    for variable, value in system.environment(tmp_path, 1).items():
        monkeypatch.setenv(variable, value)
    set_up = getattr(importlib.import_module(system.module), system.function)
    try:
        wanted = expected(case.name)
        ready = set_up(Job(case.program, case.inputs(), case.weights(), 1))
        results = ready.fetch(ready.call())
    except Unsupported as reason:
        if name.startswith("svod"):
            raise
        pytest.skip(str(reason))
    assert error(results, wanted) <= case.tolerance


def test_cases() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for case in CASES:
        assert case.flops or case.reads + case.writes, f"{case.name} says nothing of its work"


def test_cases_of_gpus() -> None:
    names = [case.name for case in [*gpu.CASES, *gpu.MATMUL_SET]]
    assert len(set(names)) == len(names)
    assert len(gpu.MATMUL_SET) == 40


def test_the_comparison_on_gpus_runs(tmp_path: Path) -> None:
    """On a CPU, on which its figures mean nothing: processes, results that are compared, turns, page and raw data."""
    page = tmp_path / "gpu.md"
    options = "--device CPU --small --cases gelu --only svod,torch --rounds 1 --seconds 0.01"
    if importlib.util.find_spec("torch") is None:
        options = options.replace("svod,torch", "svod")
    command = [sys.executable, str(BENCHES / "compare_gpu.py"), *options.split(), "--output", str(page)]
    for more in ([], ["--add"]):
        subprocess.run([*command, *more], check=True, timeout=400, capture_output=True)
    runs = json.loads(page.with_suffix(".json").read_text())["runs"]
    assert len(runs) == 2
    results = {result["case"]: result for result in runs[0]["results"]}
    # The copy is what bandwidths are compared with.
    assert list(results) == ["copy-f32", "gelu-f32", "gelu-bf16"]
    for result in results.values():
        assert result["rows"]["svod"]["times"] and not result["failures"]
    assert "gelu-bf16" in page.read_text()


def test_large_results_of_gpus_are_compared_by_samples() -> None:
    exact = np.arange(3 * gpu_worker.LARGE, dtype=np.float32).reshape(3, -1)
    sample = [(exact.shape, gpu_worker.sampled(exact))]
    assert gpu_worker.LARGE / 4 < sample[0][1].size <= 1.25 * gpu_worker.LARGE
    assert gpu_worker.difference([exact], sample) == 0
    assert gpu_worker.difference([exact.T], sample) == np.inf
    for wrong in ((0, 0), (2, -1), (0, 700), (2, -700)):
        other = exact.copy()
        other[wrong] = np.nan
        assert gpu_worker.difference([other], sample) == np.inf
    column = np.arange(2 * gpu_worker.LARGE).reshape(-1, 64)
    at = gpu_worker.sampled(column) % 64
    assert set(at.tolist()) == set(range(64))


def test_figures_of_gpus() -> None:
    def row(*times: float) -> dict[str, object]:
        return {"times": list(times), "first": 0.1, "error": 0.0}

    rows = {"svod": row(1e-3, 2e-3, 9.0), "torch": row(1e-3), "torch.compile": row(4e-3)}
    case = {"case": "x", "flops": 0.0, "bytes": 4e9, "rows": rows, "failures": {}, "watch": {}}
    copy = {"case": "copy-f32", "flops": 0.0, "bytes": 4e9, "rows": rows, "failures": {}, "watch": {}}
    assert gpu_report.best_peer(case) == "torch"
    assert gpu_report.ratio(case, ["torch"]) == 0.5
    assert gpu_report.ratio(case, gpu_report.COMPILED) == 2.0
    assert gpu_report.share(case, [copy, case]) == "50%"
    assert gpu_report.rate(case, 2e-3) == "2000 GB/s"
    assert gpu_report.rate(case | {"flops": 1e12}, 2e-3) == "500 TFLOP/s"
    assert "no device" in gpu_report.summary([case | {"rows": {}, "failures": {"svod": "no device"}}])


def test_a_wrong_result_is_seen() -> None:
    exact = [np.array([1.0, 2.0])]
    assert error([np.array([1.0, 2.2])], exact) == pytest.approx(0.1)
    assert error([np.array([1.0, np.nan])], exact) == np.inf
    assert error([np.array([[1.0, 2.0]])], exact) == np.inf
    assert error([], exact) == np.inf


def test_what_a_search_says_of_its_pairs_is_read() -> None:
    from beam import paired

    log = """svod: map_64: 12.500µs to 10.000µs, taken
svod: rows_64: 1.500ms to 1.400ms, not taken
svod: a kernel: no time, not taken
"""
    assert paired(log) == pytest.approx((10e-6 + 1.5e-3) / (12.5e-6 + 1.5e-3))
    assert paired("") is None


def test_plans_without_a_changed_kernel_are_one() -> None:
    from beam import Row

    assert Row("a", 1, 0, 1e-3, 2e-3, 1.0).ratio == 1.0
    assert Row("a", 1, 1, 1e-3, 2e-3, 1.0, 0.9).ratio == 0.9
    assert Row("a", 2, 1, 1e-3, 2e-3, 1.0, 0.9).ratio == 2.0
    assert Row("a", 2, 1, 1e-3, 2e-3, 1.0).ratio == 2.0


@pytest.mark.parametrize("library", ["svod", "torch"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_everyday_programs_say_the_same_in_every_library(program: str, library: str) -> None:
    if library == "torch":
        pytest.importorskip("torch")
    rows = checked({name: work(name, program, repeat=1) for name in ("numpy", library)})
    assert all("results" in row for row in rows.values()), rows


PAGES = sorted(path for path in (BENCHES.parent / "docs" / "benchmarks").glob("*.md") if path.stem not in NO_FIGURES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_say_what_made_them_when_and_where(page: Path) -> None:
    head = "\n".join(page.read_text().splitlines()[:8])
    if "\nNo figures yet" in head:
        return
    assert re.search(r"`python benches/\w+\.py", head), head
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", head), head
    assert re.search(r"\d+ threads, Linux .*Python 3", head), head


SMALL_STEPS = {
    "mlp": Step(trained.classifier(lambda lib: trained.mlp(lib, 6, 8), "SGD", lr=0.1), trained.labelled(10, 5, 6)),
    "convnet": Step(
        trained.classifier(lambda lib: trained.convnet(lib, (2, 3, 4)), "Adam"), trained.labelled(10, 3, 1, 6, 6)
    ),
    "resnet18": Step(
        trained.classifier(lambda lib: trained.resnet(lib, (4, 6)), "SGD", momentum=0.9),
        trained.labelled(10, 3, 3, 16, 16),
    ),
    "gpt": trained.gpt(1, 16, 2, 6),
    "lstm": trained.lstm(4, 3, 5),
    "minilm": trained.encoder(1, 24, 2, 5, 30),
    "attention": trained.attention((1, 2, 5, 4)),
    "layer-norm": trained.layer_norm((6, 8)),
    "embedding": trained.embedding(20, 4, 7),
    "adamw-40": trained.update(4, 3),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_training_move_parameters_as_pytorch_does(name: str) -> None:
    row = training_steps.work("svod", SMALL_STEPS[name], 0)
    assert row["late"] == 0 and len(set(row["losses"])) == training_steps.COMPARED
    pytest.importorskip("torch")
    rows = training_steps.checked({"svod": row, "torch": training_steps.work("torch", SMALL_STEPS[name], 0)})
    assert not any("failure" in row for row in rows.values()), rows
    assert re.fullmatch(r"\| \w.* \|", training_steps.line(name, rows))
    assert training_steps.page({name: rows})


@pytest.mark.parametrize("name", ["gpt", "mlp", "attention"])
def test_steps_of_training_in_bfloat16_are_as_near_as_that_tells(name: str) -> None:
    pytest.importorskip("torch")
    step = replace(SMALL_STEPS[name], dtype="bfloat16")
    rows = {library: training_steps.work(library, step, 0) for library in ("torch", "svod")}
    rows = training_steps.checked(rows, training_steps.CLOSE["bfloat16"])
    assert not any("failure" in row for row in rows.values()), rows


def test_steps_of_training_on_a_gpu() -> None:
    assert set(STEPS) < set(GPU_STEPS)
    command = [sys.executable, str(BENCHES / "training_steps.py"), "--worker", "svod", "--steps", "adamw-40"]
    values = os.environ | {"SVOD_CUDA": os.environ.get("SVOD_CUDA", "sim:sm_90a")}
    run = subprocess.run([*command, "--seconds", "0", "--device", "CUDA"], capture_output=True, text=True, env=values)
    assert run.returncode == 0, run.stderr
    row = json.loads(run.stdout)
    assert row["late"] == 0 and len(set(row["losses"])) == training_steps.COMPARED


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_training_are_the_same_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("torch")
    row = training_steps.work("torch", SMALL_STEPS[name], 0)
    with jax.enable_x64(False):  # other tests may have switched to wide numbers
        found = training_steps.checked({"torch": row, "jax": training_steps.work("jax", SMALL_STEPS[name], 0)})
    assert "failure" not in found["jax"], found["jax"]
