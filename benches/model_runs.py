#!/usr/bin/env python3
"""Models of full size with random weights: svod beside PyTorch, eager and compiled, and beside ONNX Runtime.

Each system runs in a process of its own, one at a time, on the same number of threads; without PyTorch's numbers it
has no time. *Run* is the best of the calls after the first one, of a training step forward, backward and SGD. *First*
is the first call, nothing kept on disk; of svod also its own share of that, a run without PyTorch's tracing, and that
share in a second process, which finds the code of kernels on disk. *Peak* is how much more memory the process had than
before the first call. The ratio is svod's run over that of the better of the others. Figures of other models stay in
the JSON file beside the page.

    python benches/model_runs.py torch [--models bert,vit] [--systems eager,svod] [--output docs/benchmarks/torch.md]
    python benches/model_runs.py onnx [--models bert,vit] [--output docs/benchmarks/onnx.md]
    python benches/model_runs.py texts [--output docs/benchmarks/texts.md]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from process import peak
from report import geometric_mean, heading, milliseconds

SYSTEMS = {
    "torch": ["eager", "inductor", "inductor dynamic", "svod", "svod dynamic"],
    "onnx": ["onnxruntime", "svod"],
    "texts": ["transformers", "svod"],
}
TITLES = {"torch": "Models of PyTorch", "onnx": "Models of ONNX", "texts": "64 tokens behind 64"}
Row = dict[str, Any]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=list(SYSTEMS))
    parser.add_argument("--models", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--systems", help="separated by commas, by default all")
    parser.add_argument("--seconds", type=float, default=3, help="of calls in a process (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=180, help="seconds until a process is given up")
    parser.add_argument("--output", type=Path, help="write this Markdown file, and figures beside it")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def timed(call: Callable[[], Any], seconds: float) -> Row:
    """The first call, and the best of those that follow."""
    before, start = peak(), time.perf_counter()
    result = call()
    figures = {"first": time.perf_counter() - start, "told": told(result)}
    del result
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return figures | {"run": min(times), "peak": peak() - before}


def told(result: Any) -> list[float]:
    """A few numbers of a result, by which systems are compared."""
    array = np.asarray(result, dtype=np.float64).reshape(-1)
    return [float(x) for x in array[:: max(1, len(array) // 32)][:32]]


def of_torch(system: str, name: str, seconds: float) -> Row:
    """PyTorch's module, eager or compiled, in this process."""
    import torch
    from full_models import MODELS, TRAINING

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    made = MODELS[name]()
    trains = name in TRAINING
    model = made.model.train(trains)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    if trains and hasattr(model, "config"):
        model.config.attention_dropout = 0.0
    backend, _, dynamic = system.partition(" ")
    own = [0.0]
    if backend == "svod":
        own = share_of_svod()
    run = model if backend == "eager" else torch.compile(model, backend=backend, dynamic=bool(dynamic))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4) if trains else None

    def infer() -> Any:
        with torch.no_grad():
            out = run(**made.arguments)
        return first_of(out)

    def step() -> Any:
        assert optimizer is not None
        optimizer.zero_grad()
        loss = run(**made.arguments)["loss"]
        loss.backward()
        optimizer.step()
        return loss.detach()

    figures = timed(step if trains else infer, seconds)
    return figures | ({"own": own[0] + figures["run"]} if backend == "svod" else {})


def share_of_svod() -> list[float]:
    """How long svod compiles: a list of one number, which grows."""
    backend: Any = importlib.import_module("svod.torch._backend")

    seconds, split = [0.0], backend.split

    def counted(*given: Any, **named: Any) -> Any:
        start = time.perf_counter()
        try:
            return split(*given, **named)
        finally:
            seconds[0] += time.perf_counter() - start

    backend.split = counted
    return seconds


def first_of(out: Any) -> Any:
    """The first tensor of a model's results."""
    return (
        out if not isinstance(out, (dict, tuple, list)) else next(iter(out.values() if isinstance(out, dict) else out))
    )


def exported(name: str, path: Path) -> Row:
    """Writes the model as ONNX, and its inputs beside it."""
    import torch
    from full_models import MODELS

    torch.manual_seed(0)
    made = MODELS[name]()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(made.model.eval(), (), kwargs=made.arguments, dynamo=True, verbose=False)
    program.save(str(path / "model.onnx"), external_data=True)
    arrays = {key: value.numpy() for key, value in made.arguments.items() if isinstance(value, torch.Tensor)}
    np.savez(path / "inputs.npz", **arrays)
    return {}


def of_onnx(system: str, path: Path, seconds: float) -> Row:
    """A model of ONNX in this process; the first call is timed with what loads the model."""
    with np.load(path / "inputs.npz") as file:
        arrays = dict(file)
    held: dict[str, Any] = {}

    def ort() -> Any:
        if not held:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = len(os.sched_getaffinity(0))
            held["model"] = onnxruntime.InferenceSession(str(path / "model.onnx"), options)
            names = [port.name for port in held["model"].get_inputs()]
            held["given"] = {key: arrays[key] for key in names}
        return held["model"].run(None, held["given"])[0]

    def ours() -> Any:
        if not held:
            held["model"] = svod.onnx.load(path / "model.onnx")
            held["given"] = {port.name: arrays[port.name] for port in held["model"].inputs}
        return held["model"](**held["given"])[0].numpy()

    if system == "onnxruntime":
        import onnxruntime

        return timed(ort, seconds)
    import svod.onnx

    return timed(ours, seconds)


def saved(name: str, path: Path) -> Row:
    """Writes a model's files."""
    import torch
    from full_models import TEXTS

    torch.manual_seed(0)
    TEXTS[name]().save_pretrained(path)
    return {}


def of_texts(system: str, path: Path, seconds: float) -> Row:
    """64 tokens behind 64, the likeliest each time, by a model of files."""
    ids = np.random.default_rng(0).integers(1, 30000, (1, 64))
    if system == "svod":
        import svod.models

        ours: Any = svod.models.load(path)
        return timed(lambda: ours.generate(ids, 64, eos_token_id=()), seconds)
    import torch
    import transformers

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    theirs: Any = transformers.AutoModelForCausalLM.from_pretrained(path)
    given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.ones(1, 64, dtype=torch.int64)}
    return timed(lambda: theirs.generate(**given, max_new_tokens=64, do_sample=False, eos_token_id=None), seconds)


def asked(work: list[str], options: argparse.Namespace, cache: Path) -> Row:
    """What a worker prints, or why it printed nothing."""
    cores = str(len(os.sched_getaffinity(0)))
    own = os.environ | {"OMP_NUM_THREADS": cores, "SVOD_THREADS": cores, "SVOD_CACHE_DIR": str(cache / "svod")}
    own |= {"TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor")}
    command = [sys.executable, __file__, options.family, "--seconds", str(options.seconds), "--worker", *work]
    try:
        done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"failure": f"no end after {options.limit:.0f} s"}
    if done.returncode != 0:
        return {"failure": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:200]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(name: str, options: argparse.Namespace) -> dict[str, Row]:
    """Each system's figures for one model."""
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="svod-bench-") as folder:
        shared = Path(folder)
        if options.family != "torch" and "failure" in (row := asked(["export", name, folder], options, shared)):
            return {"svod": row}
        for system in options.chosen:
            with tempfile.TemporaryDirectory(prefix="svod-bench-") as cache:
                row = asked([system, name, folder], options, Path(cache))
                if system == "svod" and "failure" not in row:
                    again = asked([system, name, folder], options, Path(cache))
                    # Of two processes the better one, as of the calls of one.
                    row |= {"run": min(row["run"], again.get("run", row["run"]))}
                    row |= {"disk": again.get("own", again.get("first"))}
                rows[system] = row
    return rows


def checked(rows: dict[str, Row], peers: str) -> dict[str, Row]:
    """The rows without those whose numbers are not the peer's."""
    wanted = rows.get(peers, {}).get("told")
    for system, row in rows.items():
        if (
            wanted
            and "told" in row
            and not np.allclose(row["told"], wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max())
        ):
            rows[system] = {"failure": "its numbers are not the peer's"}
    return rows


def page(family: str, figures: dict[str, dict[str, Row]]) -> str:
    """The tables, and the mean."""
    systems = SYSTEMS[family]
    lines = [
        "## Run, in ms",
        "",
        f"| model | {' | '.join(systems)} | svod / best peer |",
        "|---|" + "---:|" * (len(systems) + 1),
    ]
    ratios: list[float] = []
    for name, rows in figures.items():
        peers = [row["run"] for system, row in rows.items() if not system.startswith("svod") and "run" in row]
        ours = [row["run"] for system, row in rows.items() if system == "svod" and "run" in row]
        ratio = ours[0] / min(peers) if ours and peers else None
        ratios += [ratio] if ratio else []
        cells = [milliseconds(rows[s]["run"]) if "run" in rows.get(s, {}) else "–" for s in systems]
        lines.append(f"| {name} | {' | '.join(cells)} | {f'{ratio:.2f}' if ratio else '–'} |")
    if ratios:
        lines += [
            "",
            f"svod over the best peer: **{geometric_mean(ratios):.2f}** in the geometric mean of {len(ratios)}.",
        ]
    shares = ["svod, own share, cold", "svod, own share, from disk"] if family == "torch" else ["svod, from disk"]
    lines += ["", "## First call, in ms", "", f"| model | {' | '.join([*systems, *shares])} |"]
    lines += ["|---|" + "---:|" * (len(systems) + len(shares))]
    for name, rows in figures.items():
        cells = [milliseconds(rows[s]["first"]) if "first" in rows.get(s, {}) else "–" for s in systems]
        for key in ["own", "disk"] if family == "torch" else ["disk"]:
            value = rows.get("svod", {}).get(key)
            cells.append("–" if value is None else milliseconds(value))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "## Peak memory, in MB", "", f"| model | {' | '.join(systems)} |", "|---|" + "---:|" * len(systems)]
    for name, rows in figures.items():
        cells = [f"{rows[s]['peak']:.0f}" if "peak" in rows.get(s, {}) else "–" for s in systems]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    failures = [
        f"- {n}, {s}: {row['failure']}" for n, rows in figures.items() for s, row in rows.items() if "failure" in row
    ]
    return "\n".join([*lines, *([""] if failures else []), *failures]) + "\n"


def main() -> None:
    options = arguments()
    if options.worker:
        system, name, folder = options.worker
        if options.family == "torch":
            row = of_torch(system, name, options.seconds)
        elif system == "export":
            row = (exported if options.family == "onnx" else saved)(name, Path(folder))
        else:
            row = (of_onnx if options.family == "onnx" else of_texts)(system, Path(folder), options.seconds)
        return print(json.dumps(row))
    from full_models import INFERENCE, MODELS, TEXTS

    names = list({"torch": MODELS, "onnx": INFERENCE, "texts": TEXTS}[options.family])
    chosen = [name for name in names if any(name.startswith(part) for part in options.models.split(","))]
    options.chosen = options.systems.split(",") if options.systems else SYSTEMS[options.family]
    kept = options.output.with_suffix(".json") if options.output else None
    figures: dict[str, dict[str, Row]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for name in chosen:
        rows = checked(figures.get(name, {}) | measure(name, options), SYSTEMS[options.family][0])
        figures[name] = rows
        figures = {known: figures[known] for known in names if known in figures}
        runs = ", ".join(
            f"{s} {milliseconds(row['run']) if 'run' in row else row['failure']}" for s, row in rows.items()
        )
        print(f"{name}: {runs}", flush=True)
        if options.output and kept:
            text = (
                heading(TITLES[options.family], len(os.sched_getaffinity(0)))
                + f"\n{__doc__.split('    python')[0].strip()}\n\n"
            )
            options.output.write_text(text + page(options.family, figures))
            kept.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n" + page(options.family, figures))


if __name__ == "__main__":
    main()
