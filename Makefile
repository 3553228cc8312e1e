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

# The web console as the service serves it, and what it is built from.
BUILT_CONSOLE := src/beamkeep/surfaces/http/console/built/index.html
CONSOLE_PACKAGES := console/node_modules/.package-lock.json
CONSOLE_SOURCES = $(wildcard docs/reference/*.json console/*.json console/*.ts console/*.html) \
	$(shell find console/src console/public console/scripts -type f -not -name '*.json' -not -name '*.d.ts')

export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(abspath $(VENV))

.PHONY: help setup lock audit reference check quick test test-postgres gate-times turn bench-against bench-profile bench-smallest faults faults-untimed faults-night soak bench mutation docs demo two-sites console console-built check-console test-console pictures

help: ## show this
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 16

setup: $(VENV)/bin/pip ## make .venv with everything in the lock file, and the package itself
	@sed -n '/^uv==/,/[^\\]$$/p' requirements/requirements-dev.txt > $(VENV)/uv.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	$(VENV)/bin/uv pip install --quiet --require-hashes -r requirements/requirements-dev.txt
	$(VENV)/bin/uv pip install --quiet --no-deps --no-build-isolation -e client -e .

$(VENV)/bin/pip:
	@found=$$($(FIND_PYTHON)); \
	[ -n "$$found" ] || { echo "No Python 3.12 or newer was found; set PYTHON to one." >&2; exit 1; }; \
	echo "$$found -m venv $(VENV)"; "$$found" -m venv $(VENV)

lock: ## write the lock files again from pyproject.toml
	$(COMPILE) pyproject.toml -o requirements/requirements.txt
	$(COMPILE) pyproject.toml --group dev --group docs -o requirements/requirements-dev.txt
	for each in anthropic epics nats openai optimiser pkcs11 pvaccess tango; do $(COMPILE) pyproject.toml $(AS_LOCKED) \
		--extra $$each -o requirements/requirements-$$each.txt || exit 1; done
	$(COMPILE) client/pyproject.toml $(AS_LOCKED) -o requirements/requirements-client.txt
	for each in bluesky federation pandas polars; do $(COMPILE) client/pyproject.toml $(AS_LOCKED) \
		--extra $$each -o requirements/requirements-$$each.txt || exit 1; done

audit: ## list the parts of the service in build/sbom.json and say which are unfit
	$(RUN) requirements/audit.py

reference: ## write what follows from the code: docs/reference, catalogues, examples, the corpus
	$(RUN) -m docs.generate
	$(RUN) -m tests.support.example_data
	$(RUN) -m tests.corpus.record
	$(RUN) -m tests.unit.surfaces.test_mcp

check: ## format, lint, types, import contracts, fresh reference, tests in memory
	$(RUN) -m gate run lint types 'unit-*'

quick: ## format, lint, types and tests in memory of what differs from the last commit
	$(RUN) -m gate quick

test: ## everything functional except the console, against a real PostgreSQL
	$(RUN) -m gate run 'unit-*' 'extras-*' 'postgres-*' 'system-*' 'devices-*'

test-postgres: ## the part of it that `make check` leaves out
	$(RUN) -m gate run 'extras-*' 'postgres-*' 'system-*' 'devices-*'

test-console: $(BUILT_CONSOLE) ## the web console in a real browser, with a beamline and an identity provider
	$(RUN) -m gate run 'console-*'

pictures: ## write the pictures of the console in the documentation again
	BEAMKEEP_WRITE_PICTURES=1 $(RUN) -m pytest -q -s tests/console/test_pictures.py

gate-times: ## what every suite cost in its last run: processor and wall clock
	$(RUN) -m gate times

turn: ## take the next turn of the slices; commit .ci/turns with what you land
	$(RUN) -m gate turn

faults: ## kills, races and abuse
	$(RUN) -m pytest -q -rs -m faults tests --ignore=tests/console

faults-untimed: ## those of them that a machine with other work can judge
	$(RUN) -m gate run 'faults-*'

NIGHT := KILLS=1000 CUTS=200 FILLS=20 JUMPS=100 KEYS=10000 WORKER_FAULTS=1000 HOT_SECONDS=60 \
	SIMULATIONS=50000 INTERLEAVINGS=10000 STALL_SECONDS=60 STALL_EVENTS=1000000 \
	REBUILDS=5 REBUILD_EVENTS=1000000 HISTORY_SECONDS=600 SILENT_SECONDS=60 PARTITIONS=50 \
	PARTITION_SECONDS=30 LOST_ANSWERS=200 DRILLS=10 FUZZ_SECONDS=600 REQUESTS=50000 ABUSES=5000 \
	STARTS=10000 ESCALATIONS=100000 CONDUCTS=100000 CONDUCT_KILLS=300 CONDUCT_PAUSES=100 \
	SCAN_MUTATIONS=10000 SCAN_OBJECTS=1000000 \
	FEED_EVENTS=1000000 FEED_KILLS=50 FEED_LISTENERS=50 CUSTODY=20000 CUSTODY_KILLS=10 CUSTODY_FILES=5000 RELAY_EVENTS=200000 RELAY_KILLS=125 \
	MIRROR_KILLS=100 ALTERATIONS=1000 AGENT_DAYS=60 AGENT_EVENTS=1000000 WITNESS_LIVES=40 WITNESS_EVENTS=1000000 WITNESS_KILLS=33 DELIVERY_KILLS=100 SUPERVISION_WALKS=2000 BEAM_LOSSES=100 BEAM_KILLS=50 \
	PROPOSALS=2000 RIVAL_RUNS=200 RIVAL_KILLS=40 MODEL_CALLS=10000 MODEL_PROCESSES=8 TAMPERED=100000 EXCHANGED=10000 EXCHANGE_FAULTS=50 ROTATED=1000 FORGED=1000 \
	MEMBERSHIPS=1000 TEAM_WALKS=100000 CONSOLE_CUTS=50 CONSOLE_KILLS=20 CONSOLE_EVENTS=20000 CONSOLE_DAY=whole CONSOLE_SAMPLES=40

faults-night: ## the same at their full size, which takes hours
	env $(addprefix BEAMKEEP_,$(NIGHT)) $(RUN) -m pytest -q -m "faults or console or timed"

soak: ## ten minutes of mixed load with restarts; writes build/soak.json and build/soak.svg
	$(RUN) -m benchmarks.soak

bench-against: ## processor time of the main paths against another commit, in turns: REF=… ONLY=…
	$(RUN) -m benchmarks.against $(REF) $(if $(ONLY),--only $(ONLY))

bench-profile: ## processor time of a command, a get, a list and an append by module: REF=…
	$(RUN) -m benchmarks.profiling $(REF)

bench-smallest: ## every path of the benchmark once, on few rows; judges exact counts only
	$(RUN) -m benchmarks --smallest

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

console-built: $(BUILT_CONSOLE) ## the web console as the service serves it, and the provider that tests sign in with
	npm ci --prefix tests/oidc --no-audit --no-fund --loglevel=error

check-console: $(CONSOLE_PACKAGES) ## types, lint, format and unit tests of the web console
	npm run check --prefix console
	npm test --prefix console

demo: ## a beamline in the middle of its day: its Board in a browser, and calls to copy
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory $(BUILT_CONSOLE); \
	else echo "The console is built with npm, which was not found: this demo has none." >&2; fi
	$(RUN) -m demo.run

two-sites: ## two facilities to try an exchange with
	$(RUN) -m tests.system.two_sites .two-sites
