"""NVIDIA's driver as svod finds it: one of the tests' own in its place, which says what it is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "driver.c"
COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="a C compiler makes the driver")

USE = """
import numpy as np, svod
def tell(act):
    try:
        print(act())
    except svod.Error as error:
        print(type(error).__name__, "|", error.kind, "|", error)
a = np.arange(1000, dtype=np.float32)
def use():
    x = svod.Tensor(a, device="CUDA")
    (x + 1).realize()
    svod.synchronize()
    return (x.numpy() == a).all()
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Where the driver is, one that lacks a function, and one that has a compiler beside it."""
    made = {}
    for name, options in (("whole", []), ("lacking", ["-DWITHOUT_LAUNCH"]), ("compiling", ["-DWITH_COMPILER"])):
        made[name] = tmp_path_factory.mktemp(name)
        library = made[name] / "libcuda.so.1"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-w", *options, "-o", library, SOURCE], check=True)
    shutil.copy(made["compiling"] / "libcuda.so.1", made["compiling"] / "libnvidia-ptxjitcompiler.so.1")
    return made


@pytest.fixture
def run(folders, tmp_path):
    def run(program, mode="", folder="whole", **variables):
        kept = {name: value for name, value in os.environ.items() if name not in ("SVOD_CUDA", "SVOD_DEVICE")}
        given = {"LD_LIBRARY_PATH": str(folders[folder]), "FAKE": mode, "SVOD_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", USE + program]
        done = subprocess.run(
            command, env=kept | given | variables, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr

    return run


def test_memory_comes_back_as_it_went(run):
    program = """
for count in (0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1 << 21, 3_000_001, 10_000_001):
    given = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    assert (svod.Tensor(given, device="CUDA").numpy() == given).all()
there = svod.Tensor(a, device="CUDA").realize()
copy = there.clone()
copy[3] = 7
print(svod.devices()["CUDA:0"])
"""
    for mode in ("", "no pinned memory"):
        said, _ = run(program, mode)
        assert said == ["{'name': 'some GPU', 'memory': 8589934592, 'processors': 132, 'capability': (9, 0)}"]


def test_a_launch_has_the_arguments_of_the_kernel(run):
    said, told = run("tell(use)")
    assert said == ["True"]
    (launch,) = [line for line in told.splitlines() if line.startswith("launch")]
    assert "x 1 x 1 blocks of " in launch and "x 1 x 1 threads" in launch
    assert 1 <= int(launch.rsplit(" ", 1)[1]) <= 1000


def test_kernels_of_a_plan_become_one_launch(run):
    program = """
x = svod.Tensor(a.reshape(10, 100), device="CUDA").realize()
plan = ((x @ x.T).softmax(-1) @ x).cumsum(0).prepare()
print(len(plan.kernels))
for _ in range(5):
    plan.execute()
svod.synchronize()
"""
    said, told = run(program)
    kernels = int(said[0])
    assert kernels > 1
    done = [line.split(" of ")[0] for line in told.splitlines() if line.startswith(("launch", "graph"))]
    assert done[:kernels] == [line for line in done[:kernels] if line.startswith("launch")]
    assert done[kernels:] == ["graph"] * 4 or (done.count("graph") >= 2 and done[-1] == "graph")


def test_steps_of_training_become_one_launch(run):
    """Parameters and states of all sizes stay where they are from step to step."""
    program = """
shapes = [(16, 16), (16,), (80, 100), (3,), (100,)]
weights = [svod.Tensor(np.ones(shape, np.float32), device="CUDA").requires_grad_() for shape in shapes]
slopes = [svod.Tensor(np.ones(shape, np.float32), device="CUDA") for shape in shapes]
optimizer = svod.optim.AdamW(weights, lr=1e-3)
step = svod.jit(lambda: optimizer.step(slopes))
for _ in range(12):
    step()
    svod.synchronize()
    import sys
    print("step", file=sys.stderr, flush=True)
"""
    _, told = run(program)
    steps = [part.splitlines() for part in told.split("step\n")][-5:-1]
    for step in steps:
        done = [line.split(" of ")[0].split()[0] for line in step if line.startswith(("launch", "graph"))]
        assert done.count("launch") <= 1 and "graph" in done, step
        assert not [line for line in step if line.startswith("copy")], step


@pytest.mark.parametrize("labels", ["np.array([1, 2, 3, 0])", "svod.Tensor([1, 2, 3, 0], device='CUDA').realize()"])
def test_a_step_waits_for_no_more_than_the_check_of_its_labels(run, labels):
    """What follows the check is handed over at once; labels from the host are looked at there."""
    program = f"""
import sys
svod.set_default_device("CUDA")
model = svod.nn.Sequential(svod.nn.Embedding(8, 16), svod.nn.Linear(16, 16), svod.nn.Linear(16, 4))
model.requires_grad_()
optimizer = svod.optim.AdamW(model.parameters(), lr=1e-3)
@svod.jit
def step(labels):
    optimizer.zero_grad()
    loss = model(labels).square().mean()
    loss.backward()
    optimizer.step()
    return loss
for _ in range(12):
    step({labels})
    print("step", file=sys.stderr, flush=True)
"""
    _, told = run(program)
    for step in [part.splitlines() for part in told.split("step\n")][-5:-1]:
        done = [line.split()[0] for line in step if line.startswith(("launch", "graph", "read"))]
        if labels.startswith("np"):
            assert "read" not in done, step
        else:
            last = len(done) - 1 - done[::-1].index("read")
            assert set(done[1 : last + 1]) == {"read"} and len(done[last + 1 :]) >= 2, step


EXPORTER = """
class Exporter:
    def __init__(self, of):
        self.of = of
    def __dlpack_device__(self):
        return self.of.__dlpack_device__()
    def __dlpack__(self, **options):
        print("asked for", sorted(options), "on a stream" if options.get("stream", 0) > 2 else "on none")
        return self.of.__dlpack__(**options)
"""


@pytest.mark.parametrize(
    ("stream", "waits"), [("None", ["0x1"]), ("1", ["0x1"]), ("2", ["0x2"]), ("4096", ["0x1000"]), ("-1", [])]
)
def test_who_takes_memory_waits_in_the_stream_that_it_names(run, stream, waits):
    program = f"""
x = svod.Tensor(a, device="CUDA").realize()
capsule = x.__dlpack__(stream={stream}, max_version=(1, 0))
"""
    _, told = run(program)
    assert [line.split()[1] for line in told.splitlines() if line.startswith("stream")] == waits


def test_memory_is_taken_on_the_own_stream_and_nothing_is_copied(run):
    program = """
x = svod.Tensor(a, device="CUDA").realize()
y = svod.from_dlpack(Exporter(x))
print((y.numpy() == a).all(), y.device)
value = svod.Tensor(Exporter(x))
print((value.numpy() == a).all(), value.__cuda_array_interface__["data"] != x.__cuda_array_interface__["data"])
"""
    said, told = run(EXPORTER + program)
    asked = "asked for ['max_version', 'stream'] on a stream"
    assert said == [asked, "True CUDA:0", asked, "True True"]
    # That of the value.
    assert [line for line in told.splitlines() if line.startswith("copy")] == ["copy of 4000 bytes"]


def test_copies_between_gpus_do_not_pass_the_host(run):
    program = """
x = svod.Tensor(a, device="CUDA").realize()
y = x.to("CUDA:1").realize()
print(y.device, (y.numpy() == a).all(), (y.to("CUDA:0").numpy() == a).all())
"""
    for mode in ("", "no peers"):
        said, told = run(program, mode)
        assert said == ["CUDA:1 True True"]
        assert [line for line in told.splitlines() if line.startswith("copy")] == [
            "copy of 4000 bytes between GPUs"
        ] * 2
        assert told.count("GPUs that reach each other") == 2


def test_a_second_process_finds_the_machine_code(run):
    for expected in (["assembled --gpu-name=sm_90", "loaded machine code"], ["loaded machine code"]):
        said, told = run("tell(use)", folder="compiling")
        assert said == ["True"]
        assert [line for line in told.splitlines() if line.startswith(("assembled", "loaded"))] == expected


def test_where_nothing_is_assembled_the_text_is_loaded(run):
    for mode, folder in (("no compiler", "compiling"), ("", "whole")):
        said, told = run("tell(use)", mode, folder)
        assert said == ["True"] and told.count("loaded text") == 1 and "assembled" not in told


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("no GPU", "DeviceError | unknown device | unknown device 'CUDA:0': expected a GPU of this machine, but"),
        ("broken", "DeviceError | no driver | CUDA cannot be used: error 999"),
        ("old", "DeviceError | old driver | CUDA cannot be used: its driver is 11.4, where 12.0 or newer is needed"),
        ("other architecture", "DeviceError | unsupported architecture | CUDA:0 (some GPU) has compute capability 7.5"),
        ("bad code", "CompileError | load | load '"),
        ("new code", "DeviceError | old driver | CUDA cannot be used: its driver is one that does not know"),
        ("trap", "DeviceError | trapped | CUDA:0 failed (CUDA_ERROR_ILLEGAL_ADDRESS (700)) in kernel '"),
    ],
)
def test_what_fails_is_said_and_the_cpu_goes_on(run, mode, expected):
    said, _ = run("tell(use); tell(use); print((svod.Tensor([1.0]) + 1).tolist())", mode)
    assert said[0].startswith(expected) and said[-1] == "[2.0]"
    # Later it may be where an argument is taken that it is told.
    kind, message = expected.rsplit(" | ", 1)
    assert any(line.startswith(kind) and message in line for line in said[1:]), said
    if mode == "bad code":
        assert "ptxas error: line 3 is wrong" in said


def test_a_kernel_that_traps_is_named_with_its_line(run, tmp_path):
    model = tmp_path / "model.py"
    model.write_text("def activation(x):\n    return x * 2 + 1\n")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import model
x = svod.Tensor(a, device="CUDA").realize()
tell(lambda: model.activation(x).realize() and svod.synchronize())
tell(svod.synchronize)
"""
    said, _ = run(program, "trap")
    for line in said:
        assert line.startswith("DeviceError | trapped") and line.endswith(f"from {model}:2"), line


def test_no_driver_and_no_such_gpu(run):
    program = """
tell(lambda: svod.zeros(3, device="CUDA:7"))
tell(lambda: svod.Tensor(a, device="CUDA:0") + svod.Tensor(a, device="CUDA:1"))
print((svod.Tensor([1.0]) + 1).tolist())
"""
    said, _ = run(program)
    assert said[0] == "DeviceError | unknown device | unknown device 'CUDA:7': expected CUDA:0 to CUDA:1"
    assert said[1].startswith("DeviceError | device | ") and "CUDA:0" in said[1] and "CUDA:1" in said[1]
    assert said[2] == "[2.0]"


def test_a_driver_that_lacks_a_function_is_too_old(run):
    said, _ = run("tell(use)", folder="lacking")
    assert said == [
        "DeviceError | old driver | CUDA cannot be used: its driver is one without cuLaunchKernel, "
        "where 12.0 or newer is needed"
    ]


def test_memory_that_there_is_not_says_who_holds_it(run):
    program = """
x = svod.Tensor(a, device="CUDA")
tell(lambda: svod.Tensor(0, "uint8").expand(1 << 33).to("CUDA").contiguous().realize())
"""
    said, _ = run(program)
    assert said[0].startswith(
        "OutOfMemoryError | out of memory | out of memory on CUDA:0: cannot allocate 8589934592 bytes; svod holds"
    )


def test_a_process_that_was_forked_after_use_says_so(run):
    program = """
import os
tell(use)
child = os.fork()
if child == 0:
    tell(use)
    print((svod.Tensor([1.0]) + 1).tolist(), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
tell(use)
"""
    said, _ = run(program)
    assert any(
        line.startswith("DeviceError | forked | ") and "CUDA was used before this process was forked" in line
        for line in said
    )
    assert "[2.0]" in said and said[-1] == "True"
