# make demo   installs into .venv and reviews a real pull request on a local GitHub stand-in
# make test   passes the tests
# make check  everything that CI runs after the installation
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test check lint types imports gates bench corpus calibrate docs capacity capacity-costs judges pins audit installed stress clean

demo: $(INSTALLED)
	$(BIN)/preflight-bot demo $(if $(REPO),--repo "$(REPO)") $(if $(HEAD),--head "$(HEAD)") $(if $(BASE),--base "$(BASE)")

test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto

check: lint types imports test gates

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

imports: $(INSTALLED)
	$(BIN)/lint-imports

gates: $(INSTALLED)
	$(BIN)/python -m tests.accuracy.lint
	$(BIN)/python -m tests.accuracy.memory
	$(BIN)/python -m tests.speed.check

bench: $(INSTALLED)
	$(BIN)/python -m tests.speed.bench

stress: $(INSTALLED)
	$(BIN)/python -m tests.stress $(NAMES)

corpus: $(INSTALLED)
	$(BIN)/python -m tests.corpus

calibrate: $(INSTALLED)
	$(BIN)/python -m tests.accuracy.calibrate

# The generated pages of docs/, and the outputs that its pages show.
docs: $(INSTALLED)
	$(BIN)/python -m tests.docs.reference
	$(BIN)/python -m tests.docs.commands

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(INSTALLED)

# docs/capacity.md, from what one review was measured to cost; and that measurement, which takes some minutes.
capacity: $(INSTALLED)
	$(BIN)/python -m tests.capacity

capacity-costs: $(INSTALLED)
	$(BIN)/python -m tests.capacity.measure

# What judges the files of deploy/; where one of it cannot be had, its tests are skipped.
judges: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[deploy]'

# Installs as the image does, and has what came of it review a pull request, over SQLite and over PostgreSQL.
installed: $(INSTALLED)
	rm -rf build/installed
	PYTHON=$(BIN)/python deploy/install build/installed
	PREFLIGHT_INSTALLED=$(CURDIR)/build/installed $(BIN)/python -m pytest tests/deploy/test_running.py

# The versions and hashes that the image is made of, for every Python that the project runs on.
PIN := pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url \
	--custom-compile-command "make pins"
pins: judges
	$(BIN)/uv $(PIN) --output-file deploy/requirements.txt pyproject.toml
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
		| $(BIN)/uv $(PIN) --output-file deploy/build-requirements.txt -

# Known vulnerabilities of what the image is made of.
audit: judges
	$(BIN)/pip-audit --requirement deploy/requirements.txt --requirement deploy/build-requirements.txt \
		--require-hashes --disable-pip --progress-spinner off

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
