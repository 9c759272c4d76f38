# Every target makes its own virtual environment from nothing: `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Real datasets, where a folder beside the checkout holds them; tests that need them skip elsewhere.
DATA_FOLDER := $(wildcard ../shared/data)
ifneq ($(DATA_FOLDER),)
export SPEXPLAIN_DATA ?= $(abspath $(DATA_FOLDER))
endif

.PHONY: demo test lint format bench fidelity clean help

help:
	@echo "make demo    explain a real clustering, print rules and scores"
	@echo "make test    run all tests"
	@echo "make lint    ruff, mypy, codespell and the import contract"
	@echo "make format  let ruff rewrite the sources"
	@echo "make bench   measure speed beside scikit-learn and NumPy"
	@echo "make fidelity  agreement of all methods on all datasets at hand"

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

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
