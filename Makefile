# Every command a person types. `make nightly` and `make test` set the machine up by themselves.
#
#   ARGS    what to hand on, as in: make nightly ARGS=--quick, make test ARGS='-k bundle'
#   VENV    where the virtual environment is
#   PYTHON  the interpreter to make it with; by default the first that serves

VENV ?= .venv
ARGS ?=
PYTHON ?=

export NIGHTSHIFT_VENV := $(VENV)
export NIGHTSHIFT_PYTHON := $(PYTHON)
# Set, it would have every verb compile five hundred modules whenever it is called.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help nightly hub test test-real test-slow mutants check fmt dashboards lock setup clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

nightly: ## set up, then measure, detect, confirm and report (the main job; ARGS=--quick for a short one)
	@bash tools/setup run
	@"$(VENV)/bin/nightshift" nightly $(ARGS)

hub: ## set up, then run Prometheus, and Grafana where it is installed, with the dashboards, until stopped
	@bash tools/setup hub
	@"$(VENV)/bin/nightshift" hub up $(ARGS)

test: ## set up, then run the lane of deterministic tests (ARGS: those of pytest)
	@bash tools/setup run test
	@bash tools/test $(ARGS)

test-real: ## set up, then run the parts that measure and whose inputs changed (ARGS=--all: all; --list; names)
	@bash tools/setup run test
	@"$(VENV)/bin/python" -m tools.real_parts $(ARGS)

test-slow: ## set up, then run the tests that compile whole DBMSs (half an hour and more)
	@bash tools/setup run test slow act tofu versitygw terraform
	@"$(VENV)/bin/python" -m pytest tests/slow -o faulthandler_timeout=7200 $(ARGS)

mutants: ## set up, then change the core modules in small ways and list what no test notices
	@bash tools/setup run test
	@"$(VENV)/bin/python" -m tools.mutate $(ARGS)

check: ## set up, then run every formatter, linter, type and rule check
	@bash tools/setup check
	@bash tools/check

fmt: ## set up, then format the Python code and fix what can be fixed mechanically
	@bash tools/setup check
	@"$(VENV)/bin/ruff" check --fix --quiet .
	@"$(VENV)/bin/ruff" format .

dashboards: ## set up, then write the JSON of the Grafana dashboards from their code
	@bash tools/setup check
	@"$(VENV)/bin/python" -m dashboards

lock: ## pin the newest fitting dependencies that are not pinned yet (ARGS=--upgrade: all of them)
	@bash tools/lock $(ARGS)

setup: ## set up for everything above, and nothing else
	@bash tools/setup run test check browser act actionlint versitygw terraform

clean: ## remove the virtual environment and the caches in this folder; results stay
	@bash tools/clean
