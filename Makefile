# What a developer types; `make help` lists it. Needs GNU make, Python 3.10, Java 17 and git.

PYTHON = python3
export REPOSITORY =
# Which dbt: that of the lock, or, with `make test DBT=1.12`, another one in an environment of its own.
DBT = 1.11
VENV = .venv$(subst -1.11,,-$(DBT))
BIN = $(VENV)/bin
# The tests of a file share their tables, so they stay in one process. tests/conftest.py sorts the files.
TWO_PROCESSES = --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: help run test long quick lint lint-python lint-models faults live mutations delta engines bench docs clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

run: $(VENV)/trueup profiles.yml ## bring the demo to the HEAD of this checkout, or of REPOSITORY=path
	@$(BIN)/python -m demo.run $${REPOSITORY:+--repository "$$REPOSITORY"}

test: lint ## lint, then the tests, in less than 20 minutes on two cores; DBT=1.12 for that dbt
	$(BIN)/pytest -m "not long" $(TWO_PROCESSES)

long: $(VENV)/trueup ## the tests that `make test` leaves out
	$(BIN)/pytest -m long $(TWO_PROCESSES)

# If this variable is set, pytest does not keep the compiled tests, and each process needs four
# seconds more.
quick: export PYTHONDONTWRITEBYTECODE =
quick: $(VENV)/trueup ## most tests that need no Spark, in less than a minute, with fewer random examples
	$(BIN)/pytest -m "not spark and not long and not slow" --numprocesses 2 --dist loadfile --hypothesis-profile quick

# Interleavings, kills and races take TRUEUP_SECONDS each. A failing script is printed, with the
# variable that plays it again.
faults: export TRUEUP_SEED ?= 1
faults: export TRUEUP_SECONDS ?= 900
faults: export TRUEUP_SCRIPTS ?= 1000
faults: $(VENV)/trueup ## the long form: kills, races, interleavings, random scripts; TRUEUP_SEED=1 TRUEUP_SECONDS=900 TRUEUP_SCRIPTS=1000
	TRUEUP_RACES=100 $(BIN)/pytest tests/faults tests/collection/test_random_orders.py

# PostgreSQL, Kafka and Debezium on loopback. It says what is missing if it cannot play.
live: export TRUEUP_SEED ?= 1
live: export TRUEUP_SECONDS ?= 0
live: $(VENV)/trueup ## a real database, followed while parts of the way are killed; TRUEUP_SEED=1 TRUEUP_SECONDS=3600
	$(BIN)/pytest -rs tests/live

mutations: $(VENV)/trueup ## bugs in the macros, one at a time, each of which must show; a few minutes
	$(BIN)/pytest tests/mutations

# Delta needs other JARs than Iceberg, so these tests have a process and a Spark session of their own.
delta: TESTS = tests/collection/test_order_rules.py
delta: $(VENV)/trueup ## the rules on Delta; TESTS="tests/collection tests/faults" for more
	TRUEUP_DELTA=1 $(BIN)/pytest -m spark $(TESTS)

engines: $(VENV)/trueup ## the tests over servers, on a cluster and on a small driver, in an hour
	TRUEUP_ENGINES=1 $(BIN)/pytest tests/engines

bench: ROWS = 1000000
bench: ROUNDS = 5
bench: $(VENV)/trueup ## upserts side by side with what else there is; ROWS="1000000 5000000" for more, ROWS=100000 ROUNDS=1 for less
	@mkdir -p target
	$(BIN)/python -m benchmarks.upsert --rows $(ROWS) --rounds $(ROUNDS) --json target/bench.json

docs: $(VENV)/trueup .venv/docs/packages ## the site, in target/site/html; needs Python 3.11
	@$(BIN)/python docs/site/build.py
	@echo "Look at it: python3 -m http.server --directory target/site/html"

lint: $(VENV)/trueup profiles.yml ## style, types, and whether every model compiles to SQL
	@$(MAKE) --no-print-directory --jobs 2 lint-python lint-models

lint-python:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# dbt 2 compiles every model and test without a warehouse.
# The templater of sqlfluff opens a session while it compiles: it gets a catalog of its own.
lint-models:
	$(BIN)/dbt parse --quiet --no-partial-parse --warn-error
	@mkdir -p target/lint
	DBT_ALLOW_EXPERIMENTAL_ADAPTERS=true $(BIN)/dbt-core-experimental-parser compile --quiet --no-introspect \
		--profiles-dir tests/dbt_2 --target-path target/dbt_2 --log-path target/dbt_2/logs \
		--no-manage-state --no-version-check --no-send-anonymous-usage-stats
	TRUEUP_HOME=target/lint $(BIN)/sqlfluff lint models

clean: ## forget all data of the demo, and what dbt wrote; the environment stays
	rm -rf .trueup target logs

# The packages of the lock, then those that another dbt replaces. Both checks are made before
# anything is downloaded.
$(VENV)/packages: requirements-dev.lock $(filter-out %-1.11.txt,requirements-dbt-$(DBT).txt)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and \
		"make needs Python 3.10 or newer: make PYTHON=python3.10; this is " + sys.version[:6])'
	@command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" > /dev/null || { \
		echo "make needs Java 17 or newer: install one or set JAVA_HOME" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@for list in $^; do \
		echo "Installing the packages of $$list into $(VENV) ..."; \
		$(BIN)/pip install --quiet --disable-pip-version-check --requirement $$list || exit 1; \
	done
	@touch $@

# trueup itself, for dbt to find as a plugin: only the strict mode lets it be found, and that mode
# links the files that there are, so that a new one asks for another installation.
$(VENV)/trueup: $(VENV)/packages pyproject.toml $(wildcard udfs/*.py macros/* src/dbt_trueup/*.py src/dbt_trueup/*/*.*)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--editable . --config-settings editable_mode=strict
	@$(BIN)/pip check > /dev/null || { $(BIN)/pip check; exit 1; }
	@touch $@

# zensical and dbt need different versions of one package.
.venv/docs/packages: docs/site/requirements.txt
	@echo "Installing the packages of docs/site/requirements.txt into .venv/docs ..."
	@$(PYTHON) -m venv .venv/docs
	@.venv/docs/bin/pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt
	@touch $@

profiles.yml:
	@cp profiles.yml.example profiles.yml
	@echo "Wrote profiles.yml, a copy of profiles.yml.example."
