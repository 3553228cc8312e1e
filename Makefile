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
CONSOLE_CACHE = -o cache_dir=.pytest_cache/console

# The web console as the service serves it, and what it is built from.
BUILT_CONSOLE := src/beamkeep/console/index.html
CONSOLE_PACKAGES := console/node_modules/.package-lock.json
CONSOLE_SOURCES = $(wildcard docs/reference/*.json console/*.json console/*.ts console/*.html) \
	$(shell find console/src console/public console/scripts -type f -not -name '*.json' -not -name '*.d.ts')

export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(abspath $(VENV))

.PHONY: help setup lock audit reference check test test-postgres faults faults-untimed faults-night soak bench mutation docs demo two-sites console check-console test-console pictures

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
	for each in anthropic epics nats openai optimiser pkcs11 pvaccess tango; do $(COMPILE) pyproject.toml $(AS_LOCKED) \
		--extra $$each -o requirements/requirements-$$each.txt || exit 1; done
	$(COMPILE) client/pyproject.toml $(AS_LOCKED) -o requirements/requirements-client.txt
	for each in bluesky federation; do $(COMPILE) client/pyproject.toml $(AS_LOCKED) \
		--extra $$each -o requirements/requirements-$$each.txt || exit 1; done

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

test: ## everything functional except the console, against a real PostgreSQL
	$(RUN) -m pytest -q -m "not faults and not console"

test-postgres: ## the part of it that `make check` leaves out
	$(RUN) -m pytest -q $(OWN_CACHE) -m "postgres and not faults and not console" || \
		$(AGAIN) $(OWN_CACHE) -m "postgres and not faults and not console"

test-console: ## the web console in a real browser, with a beamline and an identity provider
	$(RUN) -m pytest -q --durations=15 $(CONSOLE_CACHE) -m "not faults" tests/console || \
		$(AGAIN) $(CONSOLE_CACHE) -m "not faults" tests/console

pictures: ## write the pictures of the console in the documentation anew
	BEAMKEEP_WRITE_PICTURES=1 $(RUN) -m pytest -q -s $(CONSOLE_CACHE) tests/console/test_pictures.py

faults: ## kills, races and abuse
	$(RUN) -m pytest -q -rs -m "faults and not console"

faults-untimed: ## those of them that a machine with other work can judge
	$(RUN) -m pytest -q -rs --durations=25 -m "faults and not timed and not console"

NIGHT := KILLS=1000 CUTS=200 FILLS=20 JUMPS=100 KEYS=10000 WORKER_FAULTS=1000 HOT_SECONDS=60 \
	SIMULATIONS=50000 INTERLEAVINGS=10000 STALL_SECONDS=60 STALL_EVENTS=1000000 \
	REBUILDS=5 REBUILD_EVENTS=1000000 HISTORY_SECONDS=600 SILENT_SECONDS=60 PARTITIONS=50 \
	PARTITION_SECONDS=30 LOST_ANSWERS=200 DRILLS=10 FUZZ_SECONDS=600 REQUESTS=50000 ABUSES=5000 \
	STARTS=10000 CONDUCTS=100000 CONDUCT_KILLS=300 CONDUCT_PAUSES=100 \
	SCAN_MUTATIONS=10000 SCAN_OBJECTS=1000000 \
	FEED_EVENTS=1000000 FEED_KILLS=50 FEED_LISTENERS=50 CUSTODY=20000 CUSTODY_KILLS=10 RELAY_EVENTS=200000 RELAY_KILLS=125 \
	MIRROR_KILLS=100 ALTERATIONS=1000 WITNESS_LIVES=40 WITNESS_EVENTS=1000000 WITNESS_KILLS=33 DELIVERY_KILLS=100 SUPERVISION_WALKS=2000 BEAM_LOSSES=100 BEAM_KILLS=50 \
	PROPOSALS=2000 RIVAL_RUNS=200 RIVAL_KILLS=40 MODEL_CALLS=10000 MODEL_PROCESSES=8 TAMPERED=100000 EXCHANGED=10000 EXCHANGE_FAULTS=50 ROTATED=1000 FORGED=1000 \
	CONSOLE_CUTS=50 CONSOLE_KILLS=20 CONSOLE_EVENTS=20000 CONSOLE_DAY=whole CONSOLE_SAMPLES=40

faults-night: ## the same at their full size, which takes hours
	env $(addprefix BEAMKEEP_,$(NIGHT)) $(RUN) -m pytest -q -m "faults or console"

soak: ## ten minutes of mixed load with restarts; writes build/soak.json and build/soak.svg
	$(RUN) -m benchmarks.soak

bench: ## ratios against the bare engine; writes build/bench.json
	$(RUN) -m benchmarks

mutation: ## change 200 lines one by one, list what no fast test notices; build/mutation.json
	nice $(RUN) -m tests.mutation --json build/mutation.json

docs: ## build docs/_build with warnings as errors
	$(VENV)/bin/sphinx-build -W --keep-going -q -b html docs docs/_build

console: $(CONSOLE_PACKAGES) ## the web console with hot reload, for the service at BEAMKEEP_URL
	npm run dev --prefix console

$(CONSOLE_PACKAGES): console/package-lock.json
	npm ci --ignore-scripts --loglevel=error --prefix console

$(BUILT_CONSOLE): $(CONSOLE_PACKAGES) $(CONSOLE_SOURCES)
	npm run --silent build --prefix console > /dev/null

check-console: $(CONSOLE_PACKAGES) ## types, lint and unit tests of the web console
	npm run check --prefix console
	npm test --prefix console

demo: ## a beamline in the middle of its day: its Board in a browser, and calls to copy
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory $(BUILT_CONSOLE); \
	else echo "The console is built with npm, which was not found: this demo has none." >&2; fi
	$(RUN) -m demo.run

two-sites: ## two facilities to try an exchange with
	$(RUN) -m tests.system.two_sites .two-sites
