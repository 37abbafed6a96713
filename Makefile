# Each target makes its own virtual environment: only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NAME ?=

.PHONY: help demo test lint test-versions lowest coverage bench reproduce docs site-check linkcheck changelog \
  install-lines release-check container-check recipes clean

help:            ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 24

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "likewise needs Python 3.11 or later, but $(PYTHON) is older: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras: made again when pyproject.toml changes.
$(VENV)/installed-%: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

DEMO := results/demo
MODEL := $(DEMO)/model.safetensors
demo: $(VENV)/installed-cli                 ## compare, learn, report, search, explain: the main job on bundled data
	@mkdir -p $(DEMO)
	$(BIN)/likewise fit wine --budget 45s --model $(MODEL) --report $(DEMO)/report.html
	$(BIN)/likewise search $(MODEL) --items wine --query "row 17" -k 5
	$(BIN)/likewise explain $(MODEL) --items wine 17 42 --top 5
	@echo "the report lies in $(DEMO)/report.html: open it in a browser"

# The report is tested in a real browser, where there is one: apt-get install chromium
test: $(VENV)/installed-test lint           ## lint, types, import contract, tests, docstrings, README and guide
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/installed-test                ## ruff, mypy, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-versions:                              ## the tests on every Python from 3.11 that is at hand
	@for python in python3.11 python3.12 python3.13 python3.14; do \
	  if $$python --version >/dev/null 2>&1; then \
	    $(MAKE) --no-print-directory test PYTHON=$$python VENV=.venv-$$python || exit 1; \
	  else echo "$$python is not at hand: skipped"; fi; done

# TESTS=tests/learners runs a part of them. Old versions warn about newer packages beside them: no errors here.
lowest:                                     ## the tests with the oldest supported dependencies
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	$(PYTHON) tools/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint .venv-lowest/constraints.txt --editable '.[test]'
	.venv-lowest/bin/python -m pytest -W default -n auto --dist loadfile $(TESTS)

coverage: $(VENV)/installed-coverage        ## the tests with coverage; fails below the floor in pyproject.toml
	$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term --cov-report=html:results/coverage $(TESTS)

bench: $(VENV)/installed-test               ## speed, memory and quality beside the peers (NAME=... for one)
	$(BIN)/python -m benchmarks $(NAME)

reproduce: $(VENV)/installed-plots,progress ## the papers' tables beside ours (NAME=... for one)
	$(BIN)/python -m reproduce $(NAME)

docs: $(VENV)/installed-docs                ## the site as HTML, with all examples executed
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

site-check: $(VENV)/installed-test          ## open the site of `make docs` in Chromium, and search in it
	$(BIN)/python -m tools.site_check

linkcheck: $(VENV)/installed-docs           ## the external links of the site
	$(BIN)/python -m sphinx -W --keep-going -b linkcheck -D plot_gallery=0 docs docs/_build/linkcheck

changelog: $(VENV)/installed-release        ## the changes of the next release, collected from changes/
	@$(BIN)/towncrier build --draft

install-lines: $(VENV)/installed-cli        ## write the installation command into README and the documentation
	$(BIN)/python -m tools.install_lines

release-check: $(VENV)/installed-release    ## build sdist and wheel, install the wheel into an empty environment, run README
	$(BIN)/python -m tools.release_check

container-check:                            ## run the commands of the Dockerfile without Docker
	$(PYTHON) -m tools.container_check

recipes:                                    ## the recipes for LangChain and LlamaIndex, in an environment of their own
	$(PYTHON) -m tools.recipes

clean:                                      ## remove what the other targets made
	rm -rf $(VENV) .venv-* results dist docs/_build docs/auto_examples .pytest_cache .mypy_cache .ruff_cache .hypothesis
