# Two commands to know: `make demo` and `make test`. Each sets up .venv first.
PYTHON ?= python3
BIN    := .venv/bin
LOCKS  := .ci/lock
# Four test processes for two cores: they wait for a cluster as often as they compute. A test never shares a port, a
# folder or a process with another.
WORKERS ?= 4
# What only computes has one for each core.
PURE_WORKERS ?= 2
# Images of containers often set it. Every test process, and every command that a test runs, would compile all modules
# again.
unexport PYTHONDONTWRITEBYTECODE

# Where tests make their files: in memory, if there is enough.
IN_MEMORY = TMPDIR="$$(.ci/temporary)"

.PHONY: demo test test-all test-fast test-control-plane lint lock sbom release licences docs site bench soak counts coverage explore histories faults fuzz mutants clean

demo: .venv/.installed
	$(BIN)/gitops-bg demo

test: .venv/.installed
	$(IN_MEMORY) $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow" $(TESTS)

# Those, too, that prove the same again at size, on other clusters, with deaths, under attack or with rivals
# (tests/selection.py).
test-all: .venv/.installed
	$(IN_MEMORY) $(BIN)/pytest -n $(WORKERS) --dist worksteal $(TESTS)

# What draws random histories: they run nearly every line and assert little about each.
DRAWN := tests/core/test_invariants.py tests/core/groups/histories tests/core/groups/routes/test_routing_properties.py
# The tables of the engine: after every change.
test-fast: .venv/.installed
	$(IN_MEMORY) $(BIN)/pytest -q -n $(PURE_WORKERS) tests/core $(addprefix --ignore=,$(DRAWN))

# What an API server reads, keeps and answers, and what the agent writes to it: for a control plane in KUBEBUILDER_ASSETS
# that is older than that of the other tests. Rights name no version of an API: they are tried once.
OF_CONTROL_PLANES := $(wildcard tests/integration/test_two_clusters*.py) tests/integration/test_control_plane.py \
	tests/integration/cluster tests/e2e
test-control-plane: .venv/.installed
	$(IN_MEMORY) $(BIN)/pytest -n $(WORKERS) --dist worksteal -k "(control-plane or control_plane or e2e) and not test_each_right" \
	  $(OF_CONTROL_PLANES)

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.installed
	$(BIN)/python -m gitops_bg.spec.crd > deploy/crd.yaml.new && mv deploy/crd.yaml.new deploy/crd.yaml
	$(BIN)/python -m gitops_bg.spec.crd releasegroups > deploy/crd.new && mv deploy/crd.new deploy/crd-releasegroups.yaml
	$(BIN)/python -m gitops_bg.cluster.chart deploy
	$(BIN)/python -m tests.cluster.kubernetes_fields --write
	$(BIN)/python -m tests.spec.stored_forms --write
	$(BIN)/python -m tests.conformance --write-docs
	$(BIN)/python -m tests.documentation --write-docs

# The documentation as a site, in .site/: a dead link, or a page that nobody reaches, is an error. A test builds it, too.
# `make site VERSION=0.1.0` builds that of a release into .site/0.1.0/, beside those that are there.
site: export NO_MKDOCS_2_WARNING := 1
site: export SITE_VERSION := $(VERSION)
site: .venv/.installed
	$(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

bench: .venv/.installed
	$(BIN)/python -m tests.bench

# Days of a busy repository in an hour: nothing may grow but the history.
soak: .venv/.installed
	$(BIN)/python -m tests.bench.soak $(SOAK)

# How large the house is: lines, files, functions, steps, fields; `make counts COUNTS=--names` says which names stand twice.
counts: .venv/.installed
	$(BIN)/python -m tests.counts $(COUNTS)

# What CI explores: all of depth 4, and of depth 5 as much of each seed as its share of a million states;
# `make explore DEPTH=6 MOST=app=200000` goes deeper; `EXPLORE='--kind group'` takes groups alone, `--seed NAME` one seed.
DEPTH ?= 5
MOST ?= app=49850,adopted=28000,group=10600
ifeq "$(DEPTH) $(MOST)" "5 app=49850,adopted=28000,group=10600"
LEAST ?= app=1000000,adopted=200000,group=300000
endif
explore: .venv/.installed
	$(BIN)/python -m tests.exploration --write --depth $(DEPTH) --most $(MOST) --least "$(LEAST)" $(EXPLORE)

# The promises on more random histories than `make test` takes.
HISTORIES ?= 100
histories: export HISTORIES := $(HISTORIES)
histories: .venv/.installed
	$(BIN)/pytest -n $(PURE_WORKERS) --dist worksteal $(DRAWN)

faults: .venv/.installed
	$(BIN)/python -m tests.exploration.faults

# Every parser of foreign bytes, by coverage; SECONDS for each.
SECONDS ?= 60
fuzz: .venv/.installed
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

mutants: .venv/.installed
	$(BIN)/python -m tests.mutants $(if $(SAMPLE),--sample $(SAMPLE))

# What the tables run. One process: its plugin for several does not bear with warnings that are errors.
UNREWRITTEN := ignore:Module already imported:pytest.PytestAssertRewriteWarning
coverage: .venv/.installed
	$(BIN)/python -W ignore::RuntimeWarning:slipcover.importer -m slipcover --branch --source gitops_bg/core,gitops_bg/spec \
	  --skip-covered --fail-under 95 -m pytest -p no:xdist -W "$(UNREWRITTEN)" tests/core tests/spec $(addprefix --ignore=,$(DRAWN))

COMPILE = $(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header $(LOCK_OPTIONS)

# Every version and hash of what is installed: for the image, for the image with all extras, for its build, for people here.
# `make lock LOCK_OPTIONS=--upgrade` takes newer ones. Extras stay: pip takes `coverage[toml]` for unpinned where the lock has
# `coverage` alone, as soon as there is a newer release.
lock: .venv/.installed
	$(COMPILE) --output-file $(LOCKS)/image.txt pyproject.toml
	$(COMPILE) --extra tracing --output-file $(LOCKS)/image-with-extras.txt pyproject.toml
	$(COMPILE) --output-file $(LOCKS)/build.txt $(LOCKS)/build.in
	$(COMPILE) --all-extras --output-file $(LOCKS)/development.txt pyproject.toml

# What the image consists of, for scanners: CycloneDX, from the lock file.
sbom: .venv/.installed
	mkdir -p .sbom
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application --output-reproducible \
	  --output-file .sbom/gitops-bg.cdx.json $(LOCKS)/image-with-extras.txt

# Everything of a release, signed with KEY, in .release/VERSION; nothing is published (CONTRIBUTING.md).
release: .venv/.installed
	$(BIN)/python -m deploy.release build $(VERSION) $(if $(KEY),--key $(KEY)) $(if $(REGISTRY),--registry $(REGISTRY)) \
	  $(if $(URL),--url $(URL)) $(if $(DOWNLOADS),--downloads $(DOWNLOADS)) $(if $(BUILDER),--builder $(BUILDER)) $(if $(DRAFT),--draft)

# The licence of each package that the image may have.
licences: .venv/.installed
	$(BIN)/pip-licenses --format=markdown --with-urls \
	  --packages $$(sed -n 's/^\([a-z0-9._-]*\)==.*/\1/p' $(LOCKS)/image-with-extras.txt)

# uv comes first, by its own lines of the lock: it takes a tenth of pip's time for the rest. pip may know a mirror that uv
# does not.
.venv/.installed: pyproject.toml $(LOCKS)/development.txt
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/[^\\]$$/p' $(LOCKS)/development.txt > .venv/uv.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement .venv/uv.txt
	$(BIN)/uv pip install --quiet --no-cache --python $(BIN)/python --require-hashes --requirement $(LOCKS)/development.txt \
	  || $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCKS)/development.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf .venv .site .release .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
