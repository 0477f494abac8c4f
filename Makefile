# Two commands set everything up: `make run` and `make test`. `make test-all` runs every test.
# Everything is installed into .venv beside this file; PYTHON selects the interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := pyproject.toml constraints.txt
JOBS ?= auto

.PHONY: run test test-all tests lint types coverage browser nginx docs clean

run: $(VENV)/.run-ready
	@exec $(BIN)/commutemap

# The first tier of the tests (tests/tiers.py), for every change. The type check runs on one processor beside the tests;
# `make` fails if either fails.
test: $(VENV)/.test-ready browser nginx lint
	@$(MAKE) --no-print-directory -j 2 types tests TIER='-m "not second_tier"'

# Both tiers.
test-all: $(VENV)/.test-ready browser nginx lint
	@$(MAKE) --no-print-directory -j 2 types tests

# Tests that share fixtures run on one worker, slowest first (tests/sharing.py). Kernels are compiled before the workers
# start; otherwise every worker would compile the same ones.
tests: $(VENV)/.test-ready
	$(BIN)/python -m engine.precompile --tables --audit --records
	$(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder --durations 15 $(TIER)

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test-ready
	$(BIN)/mypy

# Coverage of the engine, with the JIT off because compiled kernels cannot be measured.
coverage: $(VENV)/.test-ready
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest tests/engine -m jit_off -p no:xdist -q
	$(BIN)/python -m coverage report

# The browser tests drive Debian's Chromium; on other systems, install Chromium or Chrome yourself.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "installing Chromium for the browser tests"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	else echo "no Chromium found: the browser tests will be skipped (on Debian: apt-get install chromium)"; fi

# One test file runs the reverse proxy that docs/serving.md describes.
nginx:
	@if [ -x /usr/sbin/nginx ] || command -v nginx >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "installing nginx for the reverse proxy tests"; apt-get update -qq && apt-get install -y -qq nginx-light >/dev/null; \
	  if command -v systemctl >/dev/null; then systemctl disable --quiet --now nginx || true; fi; \
	else echo "no nginx found: the reverse proxy tests will be skipped (on Debian: apt-get install nginx-light)"; fi

# The help of all commands as one page, which is made from the program and not kept.
docs: $(VENV)/.test-ready
	@mkdir -p build
	$(BIN)/python -c "from mapapp.commands import cli, cli_reference; print(cli_reference.reference(cli.commutemap), end='')" > build/cli.md
	@echo "wrote build/cli.md"

$(VENV)/.python: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3"; exit 1; }
	@echo "creating the environment in $(VENV) (about two minutes the first time)"
	@$(PYTHON) -m venv $(VENV) && touch $@

$(VENV)/.run-ready: $(VENV)/.python $(SOURCES)
	@$(PIP) --editable .
	@$(BIN)/python -m engine.precompile && touch $@

$(VENV)/.test-ready: $(VENV)/.python $(SOURCES)
	@$(PIP) --editable '.[test]' && touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
