# Everything runs inside .venv; `make setup` builds it from the pinned versions in constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MANAGE := $(BIN)/python manage.py
# A pip of today comes first, where it can be had: the one that Python 3.11 brings takes twice as long for the rest.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
# The services `make test-services` uses; they must be running.
TEST_DATABASE_URL ?= postgres://postgres@127.0.0.1:5432/postgres
TEST_REDIS_URL ?= redis://127.0.0.1:6379/9
SERVICES := DATABASE_URL=$(TEST_DATABASE_URL) REDIS_URL=$(TEST_REDIS_URL)
# Where `make run` serves; without SITE_URL, links in mails and feeds follow it.
export PORT ?= 8000

# Modules are compiled when they are first used, which is a third of them, and read again: without that each process
# of the tests compiles the whole tree.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup migrate run demo test check lint types contracts format test-services test-services-all nightly test-hostile test-mutations mutation day faults bench load evaluate report size fuzz-api audit screenshots clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Installing into $(VENV), which takes a minute or two."
	$(PYTHON) -m venv $(VENV)
	-$(PIP) pip
	$(PIP) -e '.[dev]'
	@touch $@

setup: $(VENV)/.installed ## Create .venv with everything in it

migrate: setup
	@LOG_LEVEL=WARNING $(MANAGE) migrate --verbosity 0 && echo "The database is up to date."

demo: migrate ## Seed a small world, run the main job once, show what happened
	@LOG_LEVEL=WARNING $(MANAGE) demo

run: setup ## The demo, then the site on 127.0.0.1:PORT (8000) with its worker
	@$(MANAGE) run

test: setup ## All tests on SQLite, without any service
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup ## Ruff: lint and format
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup ## mypy, strict
	$(BIN)/mypy config advisor suggestions digest ranking

contracts: setup ## The import contracts between rooms and inside them
	$(BIN)/lint-imports

check: lint types contracts test ## Lint, types, contracts, tests

format: setup ## Rewrite the code in the house style
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

test-services: setup ## On PostgreSQL and Redis: tests of own SQL, locks, upserts, constraints, queues
	TIDINGS_SERVICES=own $(SERVICES) $(BIN)/python -m pytest -n auto --dist worksteal

test-services-all: setup ## On PostgreSQL and Redis: every test that uses the database
	TIDINGS_SERVICES=all $(SERVICES) $(BIN)/python -m pytest -n auto --dist worksteal

nightly: setup ## The tests that are too long for every change
	$(BIN)/python -m pytest -m "nightly or hypothesis" --hypothesis-profile=nightly -n auto --dist worksteal

test-hostile: setup ## 300 injections and 10,000 random tool calls against the invariants
	TIDINGS_HOSTILE_ALL=1 TIDINGS_TRACES=10000 $(BIN)/python -m pytest -n auto tests/advisor/hostile

test-mutations: setup ## Every open feed document and 10,000 seeded mutations, read within their limits
	TIDINGS_MUTATIONS=all $(BIN)/python -m pytest -n auto tests/digest/feeds/test_mutations.py tests/digest/feeds/test_parse.py tests/digest/feeds/test_ingest.py
	$(BIN)/python -m tests.lab mutations

day: setup ## Some minutes of a distributed installation: kills, Redis gone, a deploy; nothing may be lost
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[server]'
	$(BIN)/python -m pytest tests/lab/faults/reloads.py
	TEST_DATABASE_URL=$(TEST_DATABASE_URL) $(BIN)/python -m tests.lab load day --worst --json tests/lab/records/day.json

faults: setup ## Crashes, kills, floods and lost servers, done on purpose; needs PostgreSQL and Redis installed
	$(BIN)/python -m tests.lab faults

mutation: setup ## Do the tests of rules, budget, accepting and settings notice when the code is wrong?
	$(BIN)/python -m tests.lab mutants --json tests/lab/records/mutation.json

fuzz-api: setup ## Every operation of the API by schemathesis, on a site of its own (minutes)
	$(BIN)/python -m tests.lab fuzz

audit: setup ## Known vulnerabilities of the pinned packages; fails where none could be looked up
	$(BIN)/python -m tests.support.audit

bench: setup ## Speed, size and cost beside peers, recorded in tests/lab/records; needs TIDINGS_DATA, LOAD_DATABASE_URL
	$(BIN)/python -m tests.lab bench --json tests/lab/records/bench.json

load: setup ## A large installation under load, recorded in tests/lab/records; needs LOAD_DATABASE_URL and an hour
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[server]'
	DATABASE_URL=$(LOAD_DATABASE_URL) REDIS_URL=$(TEST_REDIS_URL) $(BIN)/python -m tests.lab load --json tests/lab/records/load.json

evaluate: setup ## Every evaluation, recorded in tests/lab/records; needs TIDINGS_DATA and an hour
	$(BIN)/python -m tests.lab bench evaluations --json tests/lab/records/evaluations.json

report: setup ## Draw the plots of docs/benchmarks.md, list the targets that the records miss
	$(BIN)/python -m tests.lab report

size: setup ## Files, lines, names, docs, and the files that one deed passes through
	$(BIN)/python -m tests.lab size

screenshots: setup ## Render docs/screenshots from the demo in a real browser
	$(BIN)/python docs/screenshots/take.py

clean: ## Remove the virtual environment and everything the demo wrote
	rm -rf $(VENV) var build *.egg-info
