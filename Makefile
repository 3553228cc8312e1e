# Every verb of the project. Each fails when something it checks is wrong.

VENV := .venv
RUN := $(VENV)/bin/python
COMPILE := $(VENV)/bin/uv pip compile --quiet --generate-hashes --no-header --no-annotate \
	--universal --python-version 3.12 --no-emit-package beamkeep-client
AS_LOCKED := -c requirements/requirements-dev.txt
FITS := -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))'

# The interpreter the environment is made with: $PYTHON if it is set, else the first that fits.
FIND_PYTHON = for each in "$$PYTHON" python3.13 python3.12 python3 \
	"$$(pyenv root 2>/dev/null)"/versions/3.13*/bin/python \
	"$$(pyenv root 2>/dev/null)"/versions/3.1[2-9]*/bin/python; do \
	[ -n "$$each" ] && "$$each" $(FITS) 2>/dev/null && echo "$$each" && break; done

# What failed, once more and by itself: what passes now is printed as flaky and added to
# build/flaky.txt. Fault tests get no second chance: what they look for may show only once.
AGAIN = $(RUN) -m pytest -q --second-run --last-failed --last-failed-no-failures=none
# CI runs two halves of the tests at once.
OWN_CACHE = -o cache_dir=.pytest_cache/postgres

export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(abspath $(VENV))

.PHONY: help setup lock audit reference check test test-postgres faults faults-untimed faults-night soak bench mutation docs demo

help: ## show this
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 14

setup: $(VENV)/bin/pip ## make .venv with everything in the lock file, and the package itself
	@sed -n '/^uv==/,/[^\\]$$/p' requirements/requirements-dev.txt > $(VENV)/uv.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	$(VENV)/bin/uv pip install --quiet --require-hashes -r requirements/requirements-dev.txt
	$(VENV)/bin/uv pip install --quiet --no-deps --no-build-isolation -e client -e .

$(VENV)/bin/pip:
	@found=$$($(FIND_PYTHON)); \
	[ -n "$$found" ] || { echo "No Python 3.12 or newer was found; set PYTHON to one." >&2; exit 1; }; \
	echo "$$found -m venv $(VENV)"; "$$found" -m venv $(VENV)

lock: ## write the lock files anew from pyproject.toml
	$(COMPILE) pyproject.toml -o requirements/requirements.txt
	$(COMPILE) pyproject.toml --group dev --group docs -o requirements/requirements-dev.txt
	for each in anthropic epics nats openai optimiser pvaccess tango; do $(COMPILE) pyproject.toml $(AS_LOCKED) \
		--extra $$each -o requirements/requirements-$$each.txt || exit 1; done
	$(COMPILE) client/pyproject.toml $(AS_LOCKED) -o requirements/requirements-client.txt
	$(COMPILE) client/pyproject.toml $(AS_LOCKED) --extra bluesky \
		-o requirements/requirements-bluesky.txt

audit: ## list the parts of the service in build/sbom.json and say which are unfit
	$(RUN) requirements/audit.py

reference: ## write docs/reference, the client's catalogue and the examples of /docs anew
	$(RUN) -m docs.generate
	$(RUN) -m tests.support.example_data

check: ## format, lint, types, import contracts, fresh reference, fast tests
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/pyright
	$(VENV)/bin/lint-imports
	$(RUN) -m docs.generate --check
	$(RUN) -m pytest -q -m "not postgres and not faults" || \
		$(AGAIN) -m "not postgres and not faults"

test: ## everything functional, against a real PostgreSQL
	$(RUN) -m pytest -q -m "not faults"

test-postgres: ## the part of it that `make check` leaves out
	$(RUN) -m pytest -q $(OWN_CACHE) -m "postgres and not faults" || \
		$(AGAIN) $(OWN_CACHE) -m "postgres and not faults"

faults: ## kills, races and abuse
	$(RUN) -m pytest -q -rs -m faults

faults-untimed: ## those of them that a machine with other work can judge
	$(RUN) -m pytest -q -rs -m "faults and not timed"

NIGHT := KILLS=1000 CUTS=200 FILLS=20 JUMPS=100 KEYS=10000 WORKER_FAULTS=1000 HOT_SECONDS=60 \
	SIMULATIONS=50000 INTERLEAVINGS=10000 STALL_SECONDS=60 STALL_EVENTS=1000000 \
	REBUILDS=5 REBUILD_EVENTS=1000000 HISTORY_SECONDS=600 SILENT_SECONDS=60 PARTITIONS=50 \
	PARTITION_SECONDS=30 LOST_ANSWERS=200 DRILLS=10 FUZZ_SECONDS=600 REQUESTS=50000 ABUSES=5000 \
	STARTS=10000 CONDUCTS=100000 CONDUCT_KILLS=300 CONDUCT_PAUSES=100 \
	SCAN_MUTATIONS=10000 SCAN_OBJECTS=1000000 \
	FEED_EVENTS=1000000 FEED_KILLS=50 FEED_LISTENERS=50 CUSTODY=20000 CUSTODY_KILLS=10 RELAY_EVENTS=200000 RELAY_KILLS=125 \
	MIRROR_KILLS=100 DELIVERY_KILLS=100 SUPERVISION_WALKS=2000 BEAM_LOSSES=100 BEAM_KILLS=50 \
	PROPOSALS=2000 RIVAL_RUNS=200 RIVAL_KILLS=40 MODEL_CALLS=10000 MODEL_PROCESSES=8

faults-night: ## the same at their full size, which takes hours
	env $(addprefix BEAMKEEP_,$(NIGHT)) $(RUN) -m pytest -q -m faults

soak: ## ten minutes of mixed load with restarts; writes build/soak.json and build/soak.svg
	$(RUN) -m benchmarks.soak

bench: ## ratios against the bare engine; writes build/bench.json
	$(RUN) -m benchmarks

mutation: ## change 200 lines one by one, list what no fast test notices; build/mutation.json
	nice $(RUN) -m tests.mutation --json build/mutation.json

docs: ## build docs/_build with warnings as errors
	$(VENV)/bin/sphinx-build -W --keep-going -q -b html docs docs/_build

demo: ## a running service with an administrator, a token and three calls to copy
	$(RUN) -m demo.run
