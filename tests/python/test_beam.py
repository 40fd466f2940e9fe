"""Search for schedules: contract row C9 from Python. What a planted candidate may do is tested in Rust."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import svod

SMALL = "x = svod.Tensor(np.arange(512, dtype=np.float32).reshape(8, 64) / 512); y = x.sum(1)"


def run(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    text = f"import numpy as np, svod\n{SMALL}\n{code}\n"
    values = os.environ | {"SVOD_CACHE_DIR": str(folder), "SVOD_DEBUG": "1"} | env
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, env=values)


def test_c9_results_are_the_same_and_are_kept_on_disk(tmp_path: Path) -> None:
    code = "print((y + 0).numpy().sum()); assert (y.realize(beam=1, max_uops=80).numpy() == y.numpy()).all()"
    first = run(code, tmp_path, SVOD_BEAM="1", BEAM_UOPS_MAX="80", BEAM_LOG_SURPASS_MAX="1")
    assert first.returncode == 0, first.stderr
    assert "dropped, linearize: " in first.stderr, first.stderr
    assert "dropped, too many uops: " in first.stderr and " of at most 80; most are " in first.stderr, first.stderr
    assert list((tmp_path / "beam").iterdir())
    again = run(code, tmp_path, SVOD_BEAM="1", BEAM_UOPS_MAX="80", BEAM_LOG_SURPASS_MAX="1")
    assert again.stdout == first.stdout
    assert "dropped" not in again.stderr and "beam" not in again.stderr, again.stderr


def test_c9_a_progress_bar_where_it_is_asked_for(tmp_path: Path) -> None:
    code = "y.realize()"
    told = run(code, tmp_path / "a", SVOD_BEAM="1", BEAM_UOPS_MAX="200", SVOD_PROGRESS="1", SVOD_DEBUG="0")
    assert "beam 1/1 " in told.stderr and "round 1: " in told.stderr
    silent = run(code, tmp_path / "b", SVOD_BEAM="1", BEAM_UOPS_MAX="200", SVOD_DEBUG="0")
    assert silent.returncode == 0 and silent.stderr == ""


def test_c9_ctrl_c_ends_a_search(tmp_path: Path) -> None:
    code = """
z = x
for n in range(12):
    z = (z @ z.T @ z * n).softmax(-1).cumsum(0).contiguous()
print("go", flush=True)
try:
    z.realize(strategy="beam:64")
except KeyboardInterrupt:
    print("interrupted", flush=True)
print((y + 1).numpy().shape)
"""
    values = os.environ | {"SVOD_CACHE_DIR": str(tmp_path)}
    text = f"import numpy as np, svod\n{SMALL}\n{code}"
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=values) as process:
        assert process.stdout is not None and process.stdout.readline() == "go\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert rest == "interrupted\n(8,)\n"


def test_c9_strict_results_stay_so(tmp_path: Path) -> None:
    code = "t, u = y + 0, y + 0; t.realize(strict=True, beam=1); u.realize(strict=True); assert (t == u).all()"
    done = run(code, tmp_path, BEAM_UOPS_MAX="300")
    assert done.returncode == 0, done.stderr


def test_c9_a_schedule_that_is_given_stays() -> None:
    x = svod.Tensor(np.ones((4, 8), np.float32))
    plan = (x + 1).prepare(schedules={0: "bind out.a0.0 unroll"}, strategy="beam:1", max_uops=1)
    assert str(plan.kernels[0].schedule) == "bind out.a0.0 unroll"
