# Every target makes its own virtual environment from nothing: `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Real datasets, where a folder beside the checkout holds them; tests that need them skip elsewhere.
DATA_FOLDER := $(wildcard ../shared/data)
ifneq ($(DATA_FOLDER),)
export SPEXPLAIN_DATA ?= $(abspath $(DATA_FOLDER))
endif

.PHONY: demo test lint format bench fidelity paper docs clean help test-embed embed-venv

help:
	@echo "make demo    explain a real clustering, print rules and scores"
	@echo "make test    run all tests"
	@echo "make test-embed  run the tests that need torch, in an environment of their own (1.7 GB)"
	@echo "make lint    ruff, mypy, codespell and the import contract"
	@echo "make format  let ruff rewrite the sources"
	@echo "make bench   measure speed beside scikit-learn and NumPy"
	@echo "make fidelity  agreement of all methods on all datasets at hand"
	@echo "make docs    build the documentation site, warnings as errors"
	@echo "make paper   the tables and figures of the SpEx paper, beside the published numbers"

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[test]"
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet -e ".[lint]"
	@touch $@

demo: $(VENV)/.test
	$(BIN)/python -m spexplain.demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto $(ARGS)

# Without a version, torch and what needs it come with several gigabytes for graphics cards.
TORCH ?= torch==2.13.0
EMBED_VENV ?= .venv-embed
EMBED_BIN := $(EMBED_VENV)/bin

$(EMBED_VENV)/.made: pyproject.toml
	$(PYTHON) -m venv $(EMBED_VENV)
	echo "$(TORCH)" > $(EMBED_VENV)/constraints.txt
	$(EMBED_BIN)/python -m pip install --quiet "$(TORCH)"
	$(EMBED_BIN)/python -m pip install --quiet -c $(EMBED_VENV)/constraints.txt -e ".[embed]" pytest hypothesis
	@touch $@

embed-venv: $(EMBED_VENV)/.made

test-embed: embed-venv
	$(EMBED_BIN)/python -m pytest tests/embed tests/unit/test_embedding.py $(ARGS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

fidelity: $(VENV)/.test
	$(BIN)/python benchmarks/fidelity.py

paper: $(VENV)/.test
	$(BIN)/spexplain paper --out build/paper --docs docs/results.md $(ARGS)

DOCS_VENV ?= .venv-docs
DOCS_BIN := $(DOCS_VENV)/bin

$(DOCS_VENV)/.made: pyproject.toml
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_BIN)/python -m pip install --quiet -e ".[docs]"
	@touch $@

docs: $(DOCS_VENV)/.made
	NO_MKDOCS_2_WARNING=1 $(DOCS_BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(EMBED_VENV) $(DOCS_VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
