# Every target makes what it needs: on a machine with Python >= 3.11, pip/venv and make, any of them works first.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

PAPER = $(if $(DATA),--data '$(DATA)') $(ONLY)

.PHONY: demo paper robustness peers test test-fast test-lowest check lint types imports docstrings format pictures screenshots docs docs-check benchmark dist clean help

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 18

$(VENV)/.plots: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "treemend needs Python >= 3.11; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots]'
	touch $@

$(VENV)/.installed: $(VENV)/.plots
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots,test,check]'
	touch $@

demo: $(VENV)/.plots            ## repair occluded digits; leaves demo.png
	$(BIN)/treemend demo --output demo.png

test: $(VENV)/.installed            ## all tests, on two processes
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-fast: $(VENV)/.installed            ## the tests that take no browser, cluster, large file or study: below 90 seconds
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

.venv-lowest/.installed: pyproject.toml tests/lowest_versions.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest_versions.py > .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --requirement .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

test-lowest: .venv-lowest/.installed            ## the same with the lowest versions of everything that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n 2 --dist worksteal -W default

check: lint types imports docstrings            ## ruff, mypy --strict, import-linter, numpydoc

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy --strict -p treemend

imports: $(VENV)/.installed
	$(BIN)/lint-imports

docstrings: $(VENV)/.installed
	$(BIN)/python tests/docstrings.py

dist: $(VENV)/.plots            ## wheel and source distribution, each installed into a fresh environment and tried
	rm -rf dist .venv-dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.0'
	$(BIN)/python -m build --outdir dist .
	for made in dist/*.whl dist/*.tar.gz; do \
		rm -rf .venv-dist && $(PYTHON) -m venv .venv-dist && \
		.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check $$made && \
		(cd .venv-dist && bin/treemend --version && \
			bin/python -c 'import treemend.synthetic as s; print("a,b,c,d"); [print(*row, sep=",") for row in s.waves(50, 4, rng=0)]' > rows.csv && \
			bin/treemend mend rows.csv -o mended.csv --report mended.html) || exit 1; \
	done

format: $(VENV)/.installed            ## put the source into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pictures: $(VENV)/.installed            ## draw the pictures of docs/
	$(BIN)/python docs/draw_pictures.py

screenshots: $(VENV)/.installed            ## take the pictures of the report; needs Chromium
	$(BIN)/python docs/draw_report.py

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

docs: $(VENV)/.installed-docs            ## build the documentation site in docs/_build/html; warnings are errors
	cd docs && $(abspath $(BIN))/python -m sphinx -b html -W --keep-going --quiet . _build/html
	@echo 'docs/_build/html/index.html'

docs-check: docs            ## open every page of the site in Chromium, follow its links, search it
	$(BIN)/python docs/check_site.py

benchmark: $(VENV)/.installed            ## speed ratios against scikit-learn and NumPy
	$(BIN)/python benchmarks/speed

robustness: $(VENV)/.installed            ## the proof and docs/accuracy.md; ONLY=scattered for one question, OPTIONS=--held-out, DATA=folder
	$(BIN)/python -m experiments.robustness $(if $(DATA),--data '$(DATA)') $(OPTIONS) $(ONLY)

.venv-peers/.installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

peers: .venv-peers/.installed            ## other people's methods on the proof's rows, in an environment of their own
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=src .venv-peers/bin/python -m benchmarks.peers $(if $(DATA),--data '$(DATA)') $(OPTIONS) $(ONLY)

paper: $(VENV)/.installed            ## the published experiments and docs/paper.md; ONLY=table_1 for one, DATA=folder for the sets
	$(BIN)/python -m experiments $(PAPER)

clean:            ## remove the environment and what tools left
	rm -rf $(VENV) .venv-peers .venv-lowest .venv-dist dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo.png docs/_build docs/api docs/gallery
	find . -name __pycache__ -prune -exec rm -rf {} +
