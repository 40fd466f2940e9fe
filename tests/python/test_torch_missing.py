"""Which names of PyTorch svod has not: those that docs/torch_names.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import svod
import svod.nn.functional as functional

PAGE = (Path(__file__).parents[2] / "docs/torch_names.md").read_text()

# What names begin with that are of parts of PyTorch which svod does not follow.
SKIPPED = (
    *("_", "align", "autocast", "backward", "batch_norm_", "ccol", "coalesce", "col_ind", "compile", "crow"),
    *("cuda", "cudnn", "default", "dense_dim", "dequant", "distributed", "dsmm", "export", "fake_", "fbgemm", "fork"),
    *("get_", "grad_fn", "has_names", "hpu", "hspmm", "import_", "indices", "initial_seed", "int_repr", "ipu"),
    *(
        "is_anomaly",
        "is_autocast",
        "is_coalesced",
        "is_cuda",
        "is_deterministic",
        "is_grad",
        "is_inference",
        "is_pinned",
    ),
    *("is_shared", "is_sparse", "is_vulkan", "is_warn", "jit", "load", "merge", "miopen", "mkldnn", "module_", "mps"),
    *("mtia", "names", "nnpack", "nnz", "output_nr", "parse", "pin", "q_", "quant", "record_stream", "refine"),
    *(
        "register",
        "reinforce",
        "rename",
        "resolve",
        "retain",
        "row_ind",
        "saddmm",
        "save",
        "seed",
        "set_",
        "share_memory",
    ),
    *("smm", "sparse", "spmm", "sspaddmm", "storage", "sym_", "thread", "to_dense", "to_mkl", "to_padded", "to_sparse"),
    *("typename", "unify", "values", "vmap", "volatile", "vulkan", "wait", "xpu"),
)


def missing() -> set[str]:
    """The names that PyTorch has, and svod has not."""
    torch = pytest.importorskip("torch")
    found = set()
    spaces = ((torch, svod), (torch.Tensor, svod.Tensor), (torch.nn.functional, functional))
    for theirs, ours in spaces:
        for name in dir(theirs):
            item = getattr(theirs, name)
            is_function = theirs is torch.Tensor or (callable(item) and not isinstance(item, type))
            if is_function and not name.startswith(SKIPPED) and not hasattr(ours, name):
                found.add(name)
    return found


def documented() -> set[str]:
    return set(re.findall(r"`(\w+)`", PAGE.split("## Not looked at")[0].split("|---|---|")[1]))


def test_the_page_says_what_is_missing() -> None:
    assert missing() <= documented()


def test_what_the_page_says_is_missing() -> None:
    names = documented()
    assert len(names) > 50
    # Of one namespace a name may be there: `x.cos_()`, not `svod.cos_`.
    there = {name for name in names if hasattr(svod, name) and hasattr(svod.Tensor, name) and hasattr(functional, name)}
    assert not there
    pytest.importorskip("torch")
    assert not names - missing(), "svod has these: take them from the page"


def test_the_page_says_what_is_not_looked_at() -> None:
    assert re.findall(r"`(\w+)`", PAGE.split("## Not looked at")[1]) == list(SKIPPED)
