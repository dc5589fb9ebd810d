# beamline: every target sets up what it needs and says what it does. `make up` and `make test` are all a newcomer types.

PYTHON ?= python3
STACK ?= g4
FUZZ_INPUTS ?= 10000
KILLS ?= 20
VENV := .venv
ENGINES := .venv-engines
BIN := $(VENV)/bin
DYNAMO := .venv-dynamo
PATHS := beamline bench components guard kv_evictor manifests policies stacks tests __main__.py

.PHONY: help setup engines test-engines engine-flags kv-figures tools plan up down status lint types test live fuzz failures faults blue-green matrix bench golden lock-requirements clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.installed ## Python environment from the locked requirements

$(VENV)/.installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "beamline needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12" >&2; exit 3; }
	@test ! -e $(VENV)/.making || { echo "removing a $(VENV) that was left half-made" >&2; rm -rf $(VENV); }
	@mkdir -p $(VENV) && touch $(VENV)/.making
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "python3 -m venv failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 3; }
	@echo "installing locked requirements into $(VENV)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@rm $(VENV)/.making && touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

engines: $(ENGINES)/.installed ## vLLM, SGLang and Dynamo as judges of command lines, about a minute and 2.6 GB; no GPU

# Linux alone: vLLM has no other builds, and elsewhere PyTorch would need no stand-ins.
$(ENGINES)/.installed: requirements-engines.txt tests/engines/judge/nvidia_libraries.py $(VENV)/.installed-dev
	@echo "installing the engines into $(ENGINES)" >&2
	@rm -rf $(ENGINES)
	@$(BIN)/uv venv --quiet --python $(BIN)/python $(ENGINES)
	@$(BIN)/uv pip install --quiet --python $(ENGINES)/bin/python --no-deps --require-hashes -r requirements-engines.txt
	@$(ENGINES)/bin/python tests/engines/judge/nvidia_libraries.py
	@touch $@

tools: setup ## third-party programs of the sandbox: those on PATH, the rest built from pinned Go modules
	@$(BIN)/python -m beamline.toolchain

plan: setup ## what the stack would create; no cloud, no tools
	@$(BIN)/beamline plan $(STACK)

up: plan tools ## apply the stack in the sandbox (simulated cloud, real engine, real Kubernetes API)
	@$(BIN)/beamline sandbox up $(STACK)

down: setup ## destroy the stack in the sandbox, prove nothing is left, stop everything
	@$(BIN)/beamline sandbox down $(STACK)

status: setup ## what runs in the sandbox
	@$(BIN)/beamline sandbox status $(STACK)

lint: $(VENV)/.installed-dev ## style and docstrings
	@$(BIN)/ruff check $(PATHS)
	@$(BIN)/ruff format --check --quiet $(PATHS) || { echo "run: $(BIN)/ruff format $(PATHS)" >&2; exit 1; }

types: $(VENV)/.installed-dev ## strict type check
	@$(BIN)/mypy

test: lint types tools ## everything: style, types, unit tests, and the sandbox end to end
	@$(BIN)/beamline check
	@$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder --ignore tests/live

$(DYNAMO)/.installed: requirements-dynamo.txt $(VENV)/.installed
	@rm -rf $(DYNAMO) && $(BIN)/python -m venv $(DYNAMO)
	@echo "installing Dynamo into $(DYNAMO)" >&2
	@$(DYNAMO)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes --no-deps -r requirements-dynamo.txt
	@touch $@

live: $(VENV)/.installed-dev $(DYNAMO)/.installed ## Dynamo's own frontend and router with the rendered settings, over simulated workers; about two minutes
	@$(BIN)/pytest tests/live -q -n 0

test-engines: engines ## every preset's engine containers judged by vLLM's, SGLang's and Dynamo's own code
	@$(BIN)/pytest -q -n 0 tests/engines/real

engine-flags: engines ## read off the engines what their command lines and environments take: stacks/catalog/engine_flags
	@$(BIN)/python -m tests.engines.write_flags

kv-figures: engines ## let the engines divide every preset's GPU memory into KV cache: bench/kv_figures.json, docs/kv-blocks.md
	@$(BIN)/python -m tests.engines.write_kv_figures

fuzz: $(VENV)/.installed-dev ## 10,000 stack files, presets and catalog rows, other ones each time; FUZZ_INPUTS=n for more
	@FUZZ_INPUTS=$(FUZZ_INPUTS) $(BIN)/pytest tests/fuzz -q -n 2 --dist load

failures: $(VENV)/.installed-dev ## public failures, a line each, with the stage that stops it; all stages are really run
	@$(BIN)/python -m tests.failures.public.table

faults: $(VENV)/.installed-dev tools ## kill engine, providers and language host inside operations, about 30 minutes; SEED=n repeats, FIRST=n begins with the nth, PAGE=docs/faults.md writes the table
	@$(BIN)/python -m tests.faults --kills $(KILLS) $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST)) $(if $(PAGE),--page $(PAGE))

blue-green: $(VENV)/.installed-dev tools ## one accelerator pool takes over from another in the sandbox; writes docs/blue-green.md
	@$(BIN)/python -m tests.blue_green

matrix: $(VENV)/.installed-dev ## which hardware, weights, router stacks and engines go together, and what may be added
	@$(BIN)/python -m tests.matrix

bench: tools ## speed as ratios, about 15 minutes; PAGE=docs/speed.md writes the table, STACK and PAIRS choose what and how often
	@$(BIN)/python -m bench $(if $(filter-out file,$(origin STACK)),--stack $(STACK)) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(PAGE),--page $(PAGE))

golden: $(VENV)/.installed-dev ## rewrite generated files and golden outputs; review the diff before committing
	@$(BIN)/python -m tests.regenerate

lock-requirements: $(VENV)/.installed-dev ## resolve requirements*.in into hashed lock files
	@$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet requirements.in -o requirements.txt
	@$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet requirements-dev.in -o requirements-dev.txt
	@$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --override requirements-dynamo.overrides requirements-dynamo.in -o requirements-dynamo.txt
	@printf 'torch; sys_platform == "never"\ntriton; sys_platform == "never"\n' > $(VENV)/overrides.txt
	@$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --overrides $(VENV)/overrides.txt --no-emit-package torch --no-emit-package triton requirements-engines.in -o requirements-engines.txt
	@$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --no-deps requirements-engines-bare.in -o $(VENV)/bare.txt
	@cat $(VENV)/bare.txt >> requirements-engines.txt

clean: ## remove the Python environment and caches; sandboxes stay until `make down`
	@rm -rf $(VENV) $(DYNAMO) $(ENGINES) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
