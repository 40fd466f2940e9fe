# Everything a contributor needs; `make help` lists it. CI calls `make test` and nothing else.

PYTHON ?= python3
# Others that the wheel is tried on.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check

export VIRTUAL_ENV := $(abspath $(VENV))
export PATH := $(abspath $(BIN)):$(PATH)

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock .cargo/config.toml) \
    $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name '*.ll' -o -name build.rs)
# Two processes, each with files of its own: most of the time is compiling, and reading by one thread.
PYTEST := $(BIN)/python -m pytest tests/python python/svod --doctest-modules --numprocesses 2 --dist loadfile
# The extension is built in release mode by `setup`; a second build of it would test nothing more.
CARGO_TEST := cargo test --workspace --exclude svod-python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-full test-gpus fuzz sanitize lint fmt bench bench-compare bench-everyday gpu-check wheel bless docs rustdoc

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMPS)/extension $(STAMPS)/dev ## LLVM's packages, .venv, and svod built into it (release)

demo: $(STAMPS)/extension ## semantic search with real weights (examples/embed.py)
	@$(BIN)/python examples/embed.py

test: setup ## Rust tests, then Python tests and docstrings
	$(CARGO_TEST)
	$(PYTEST)

test-full: setup ## the same with the exhaustive tests (every float, long state machines), and on simulated GPUs
	SVOD_TEST_FULL=1 $(CARGO_TEST) --release -- --include-ignored
	SVOD_TEST_FULL=1 $(PYTEST)
	$(MAKE) test-gpus

# Those that were run whole on a GPU; in others, tests that ask for what processors have are still to be marked `of_cpus`.
ON_GPUS := $(patsubst %,tests/python/test_%.py,einsum families fft grad library losses nn nn_functions onnx pool random rearrange \
    special standard_elementwise standard_functions surprises torch_matrices torch_spellings vmap)

test-gpus: setup ## Python tests, and random programs, on simulated GPUs; FILES="tests/python/test_nn.py"
	for machine in sm_80 sm_90a; do \
	    SVOD_CUDA=sim:$$machine SVOD_DEVICE=CUDA $(BIN)/python -m pytest $(or $(FILES),$(ON_GPUS)) || exit 1; \
	    SVOD_CUDA=sim:$$machine PYTHONPATH=tests/python $(BIN)/python -m fuzz --modes cuda --seconds $(or $(SECONDS),60) || exit 1; \
	done

fuzz: setup ## random programs and texts for a while; SECONDS=600 JOBS=2
	PYTHONPATH=tests/python $(BIN)/python -m fuzz --seconds $(or $(SECONDS),60) --jobs $(or $(JOBS),1)
	SVOD_FUZZ_SECONDS=$(or $(SECONDS),60) cargo test --release -p svod-ir -p svod-schedule -p svod-device --test fuzz -- --nocapture
	SVOD_FUZZ_SECONDS=$(or $(SECONDS),60) cargo test --release -p svod-runtime --lib fuzzed -- --nocapture

sanitize: setup ## tests under AddressSanitizer, ThreadSanitizer and Valgrind (scripts/sanitize.sh)
	scripts/sanitize.sh

lint: setup ## rustfmt, clippy, ruff, mypy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fmt: $(STAMPS)/dev ## format Rust and Python
	cargo fmt --all
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

bench: $(STAMPS)/llvm ## criterion benches of the parts
	cargo bench --workspace --exclude svod-python

bench-compare: $(STAMPS)/extension $(STAMPS)/peers ## svod beside its peers; ARGS="--cases minilm"
	@scripts/install_torch.sh $(BIN)/python
	$(BIN)/python benches/compare.py $(ARGS)

bench-everyday: $(STAMPS)/extension $(STAMPS)/peers ## everyday programs, beside NumPy and PyTorch; ARGS="--programs masks"
	$(BIN)/python benches/everyday.py $(ARGS)

gpu-check: ## on a machine with a GPU and a wheel in dist/: tests, random programs, benches; PARTS="wheel tests" PYTHON=python3
	PYTHON=$(PYTHON) scripts/gpu_check.sh $(PARTS)

wheel: $(STAMPS)/demo $(STAMPS)/llvm $(STAMPS)/wheel ## dist/svod-*.whl with LLVM inside, for glibc 2.28 and later, tried on each Python
	CARGO_TARGET_$(shell uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_LINKER=$(abspath scripts/link_wheel.sh) \
	    $(BIN)/python -m maturin build --release --strip --compatibility manylinux_2_28 \
	    --target $(shell uname -m)-unknown-linux-gnu --no-default-features --features llvm-static --out dist
	scripts/check_wheel.sh $(BIN)/python $(PYTHON) $(PYTHONS)

bless: $(STAMPS)/llvm ## rewrite the golden files from what the code gives now
	SVOD_BLESS=1 $(CARGO_TEST)

docs: $(STAMPS)/extension $(STAMPS)/docs ## the documentation site, in target/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "the site is in target/site; with its search: $(BIN)/python -m http.server -d target/site"

rustdoc: $(STAMPS)/llvm ## the reference of the crates, in target/doc
	cargo doc --workspace --exclude svod-python --no-deps

$(STAMPS)/venv: scripts/check_tools.sh
	@scripts/check_tools.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/llvm: scripts/install_llvm.sh | $(STAMPS)/venv
	@scripts/install_llvm.sh
	@touch $@

$(STAMPS)/demo: requirements/demo.txt | $(STAMPS)/venv
	$(PIP) install --quiet --no-deps -r $<
	@touch $@

$(STAMPS)/dev: requirements/dev.txt scripts/install_torch.sh | $(STAMPS)/venv
	$(PIP) install --quiet -r $<
	@scripts/install_torch.sh $(BIN)/python
	@touch $@

$(STAMPS)/wheel: requirements/wheel.txt | $(STAMPS)/venv
	$(PIP) install --quiet -r $<
	@touch $@

$(STAMPS)/docs: requirements/docs.txt | $(STAMPS)/venv
	$(PIP) install --quiet -r $<
	@touch $@

$(STAMPS)/peers: requirements/peers.txt | $(STAMPS)/venv
	@for peer in $$(grep -v '^#' $<); do \
	    $(PIP) install --quiet "$$peer" || echo "$$peer could not be installed: measuring without it"; \
	done
	@touch $@

$(STAMPS)/extension: $(STAMPS)/llvm $(STAMPS)/demo pyproject.toml $(RUST_SOURCES)
	$(BIN)/maturin develop --release
	@touch $@
