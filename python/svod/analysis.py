"""The types of what `ExecutionPlan.analysis` and `explain` give: dicts, lists, numbers and text.

>>> import svod
>>> from svod.analysis import Analysis
>>> x = svod.Tensor([1.0, 2.0])
>>> analysis: Analysis = (x.softmax(0) * 2).prepare(inputs=[x]).analysis()
>>> [list(item["what"]) for item in analysis["items"]]
[['kernel']]

Extents, strides and numbers of tasks are text, because they may be symbolic. Times are in nanoseconds.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

__all__ = [
    "Analysis",
    "Axis",
    "Buffer",
    "Context",
    "Explanation",
    "Gpu",
    "GpuCycles",
    "Hint",
    "Item",
    "ItemAnalysis",
    "IterationSpace",
    "Kernel",
    "KernelWhat",
    "Layout",
    "Loop",
    "Machine",
    "Mapping",
    "Opportunity",
    "Prefetch",
    "Reduction",
    "Strided",
    "Synchronization",
    "SynchronizationWhat",
    "Transfer",
    "TransferWhat",
    "View",
    "ViewWhat",
    "What",
]


class Explanation(str):
    """What `ExecutionPlan.explain` gives: a text that the prompt shows as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


Mapping: TypeAlias = Literal["block", "thread", "vector", "serial"]
"""What a loop becomes: a dimension of the grid, threads of a group, lanes of a vector, rounds one after the other."""


class Axis(TypedDict):
    """A named range: its points have results of their own, or are combined."""

    name: str
    extent: str
    role: Literal["normal", "reduction"]


class Loop(TypedDict):
    """A loop over the axis of this position, and what it becomes."""

    axis: int
    to: Mapping


class IterationSpace(TypedDict):
    """Axes; the loops over them, axis by axis, those of one axis outermost first; and the points of each axis'
    inner loops."""

    axes: list[Axis]
    mapping: list[Loop]
    tiles: list[list[int]]


class Reduction(TypedDict):
    """How the fold of a stage is combined: by one thread, and by several, if by several."""

    stage: str
    by: str
    within: Literal["sequential", "tree", "welford", "shuffle"]
    across: Literal["shared_tree", "atomic", "grid"] | None


class Prefetch(TypedDict):
    """What is fetched before it is read, as schedules name it, and how many rounds ahead."""

    read: str
    ahead: int


class Hint(TypedDict, total=False):
    """What a kernel was told about how to run: one of these, with its parameter."""

    vectorize: int
    unroll: int
    prefetch: Prefetch
    pipeline: int


class Kernel(TypedDict):
    """A kernel: its axes, the tasks of each phase in three dimensions, reductions, hints, and the schedule's text."""

    space: IterationSpace
    launches: list[list[str]]
    reductions: list[Reduction]
    hints: list[Hint]
    schedule: str


class KernelWhat(TypedDict):
    """An item that runs a kernel."""

    kernel: Kernel


Strided = TypedDict("Strided", {"shape": list[int], "from": list[int], "to": list[int]})
"""Memory of several dimensions that is moved: extents, and distances, in elements, in source and destination."""


class Transfer(TypedDict):
    """Moving memory: whether the host goes on meanwhile; how it lies, where it is not dense."""

    asynchronous: bool
    strided: Strided | None


class TransferWhat(TypedDict):
    """An item that moves memory."""

    transfer: Transfer


class View(TypedDict):
    """Another name for memory from this byte on."""

    offset: int


class ViewWhat(TypedDict):
    """An item that gives memory another name; nothing is moved."""

    view: View


class Synchronization(TypedDict):
    """Waiting: for all to get there, for earlier accesses, or for the event of a number; among whom."""

    what: Literal["barrier", "fence"] | dict[Literal["event"], int]
    scope: Literal["threadgroup", "device", "system"]


class SynchronizationWhat(TypedDict):
    """An item that waits."""

    synchronization: Synchronization


What: TypeAlias = KernelWhat | TransferWhat | ViewWhat | SynchronizationWhat | Literal["host_callback"]
"""What an item does."""


class Context(TypedDict):
    """Where and how an item runs: the device; the level, whose items may run side by side; loops, and those of them
    that are vectors or laid out."""

    device: str
    stream: int
    dims: int
    upcasted: int


class GpuCycles(TypedDict):
    """How long parts of a GPU are busy with an item, side by side, in cycles in which all multiprocessors work."""

    tensor_cores: float
    arithmetic: float
    shared_memory: float
    l2: float
    memory: float


class ItemAnalysis(TypedDict):
    """What an item costs: operations on floats, bytes moved from and to buffers, vector registers, bytes of a task's
    scratch; bytes of operands that one core copies into panels where 1, 8 and 64 cores share the tasks; the share of
    the threads that have work; times estimated, measured (once profiled), and least by the roofline; on a GPU, how long
    its parts are busy."""

    flops: float
    bytes_read: float
    bytes_written: float
    registers: int
    scratch_bytes: int
    packed_bytes: list[float]
    occupancy: float
    estimated_ns: float
    measured_ns: float | None
    least_ns: float
    gpu: GpuCycles | None


class Item(TypedDict):
    """A step: the number of the plan's operation (none of a barrier), the buffers that it reads and writes, the
    earlier items whose results it reads (`data`) or that it follows for another reason (`control`), and the lines of
    the program that it computes."""

    op: int | None
    name: str
    what: What
    context: Context
    reads: list[int]
    writes: list[int]
    data: list[int]
    control: list[int]
    origins: list[str]
    analysis: ItemAnalysis | None


class Layout(TypedDict):
    """How a buffer lies in memory: extents, distances in elements, alignment in bytes, elements accessed at once."""

    shape: list[str]
    strides: list[str]
    alignment: int
    vector_width: int


class Buffer(TypedDict):
    """A buffer: `lifetime` is the first and the last item during which it must not change otherwise; buffers of one
    `alias_group` share memory, of which `offset` is the first byte."""

    dtype: str
    layout: Layout
    scope: Literal["global", "shared", "local"]
    device: str
    bytes: int
    input: bool
    output: bool
    lifetime: list[int] | None
    alias_group: int
    offset: int


class Gpu(TypedDict):
    """How fast a GPU is at most, as it is described: cycles of its multiprocessors, operations on 32-bit floats by
    threads, those of products of 16-bit floats by tensor cores, and bytes of its memory a second."""

    device: str
    multiprocessors: int
    clock: float
    flops: float
    tensor_flops: float
    bandwidth: float


class Machine(TypedDict):
    """How fast the machine is at most: threads, operations on 32-bit floats and bytes of main memory a second,
    whether the rates were measured here, and by what share times varied then; and the GPUs that items run on."""

    threads: int
    flops: float
    bandwidth: float
    measured: bool
    noise: float
    gpus: list[Gpu]


class Opportunity(TypedDict):
    """Two items that might be one: the share of the estimated total and the bytes that it would save."""

    producer: int
    consumer: int
    kind: Literal["elementwise", "reduction", "mixed"]
    benefit: float
    bytes_saved: float


class Analysis(TypedDict):
    """What a plan is and costs: `critical_path` are items each of which waits for the one before, of which the sum of
    costs, `estimated_total_ns`, is the largest; `held_bytes` is all memory, `peak_bytes` what is alive at one item."""

    items: list[Item]
    buffers: list[Buffer]
    machine: Machine
    opportunities: list[Opportunity]
    critical_path: list[int]
    estimated_total_ns: float
    measured_total_ns: float | None
    held_bytes: int
    peak_bytes: int
