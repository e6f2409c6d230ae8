# One call each. `make quick` and `make test` are all that a newcomer needs.

PYTHON ?= python3
BIN := .venv/bin
PY := PYTHONPATH=workflow $(BIN)/python
WHICH ?= failed
RECORDS ?= examples/records
STUDY ?= quick

.PHONY: help quick smoke equivalence faults test lint format redraw aside lock host dev

help:                ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 12

quick: host          ## set up what is missing and run the quick study on this machine
	@$(BIN)/snakemake --config study=quick

smoke: host          ## the same in two minutes: two repeats
	@$(BIN)/snakemake --config study=smoke

equivalence: host    ## a gate cell for every framework, network and execution: do they compute the same?
	@$(BIN)/snakemake --config study=equivalence

faults: dev          ## plant mistakes in every framework that has an environment: which check of the gate sees which?
	@PYTHONPATH=workflow:tests $(BIN)/python -m faults $(if $(OUT),--out $(OUT))

test: dev            ## the tests; REQUIRE_ALL=1 fails where an environment cannot be built
	@$(BIN)/python -m pytest $(TESTS)

lint: dev            ## format, lint, the zones, Python 3.6 in the worker zone, the rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/vermin -q --violations --no-tips -t=3.6- workflow/worker
	@PYTHONPATH=workflow $(BIN)/lint-imports
	@$(BIN)/snakefmt --check Snakefile workflow/rules
	@$(BIN)/snakemake --lint 2>&1 | $(BIN)/python tests/lint_rules.py

format: dev          ## put the code into the house's format
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix . && $(BIN)/snakefmt Snakefile workflow/rules

redraw: host         ## draw table, figure and guide from RECORDS, running nothing: make redraw RECORDS=examples/records
	@$(BIN)/snakemake --config study=$(STUDY) records=$(RECORDS) results=results/redrawn

aside: host          ## set records aside so that they are measured again: make aside WHICH=failed|stale STUDY=quick
	@$(PY) -m host.aside --which $(WHICH) --study $(STUDY)

lock: dev            ## pin the newest versions of the host environment
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate -U requirements.in -o requirements.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate -U requirements-dev.in -c requirements.txt -o requirements-dev.txt

host:
	@$(PYTHON) workflow/host/bootstrap.py requirements.txt

dev:
	@$(PYTHON) workflow/host/bootstrap.py requirements-dev.txt
