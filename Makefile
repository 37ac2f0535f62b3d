# Every target does its own set-up: on a fresh Debian with Python and make, `make demo` and `make test` suffice.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?= python3
PROTOS := $(wildcard protos/v1/*.proto)

.PHONY: help setup demo test neighbours check protos docs soak bench bench-planner lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    64 emulated nodes: break things and watch the rings heal"
	@echo "make test    every test, real processes included"
	@echo "make check   ruff, mypy strict, import contracts, generated protos and pages current"
	@echo "make protos  generate the Python of protos/"
	@echo "make docs    write the pages that come from the code: docs/metrics.md"
	@echo "make soak    simulate further seeds until one fails, or Ctrl-C"
	@echo "make bench   repeatable measurements, see bench/README.md"
	@echo "make bench-planner   the planner on 1,000 to 1,000,000 nodes, as a table and in bench-planner.json"
	@echo "make lock    resolve dependencies anew into requirements.lock"

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Ringlight needs Python 3.11 or newer: make PYTHON=python3.x ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "installing python3-venv"; apt-get update -qq && apt-get install -y -qq python3-venv; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	$(BIN)/ringlight demo

test: $(READY) neighbours
	$(BIN)/python -m pytest

# The real programs beside which tests run Ringlight, from Debian's packages. Tests of one that is missing are skipped, and
# say so.
neighbours:
	@missing=; \
	ldconfig -p | grep -q libfuse || missing="$$missing libfuse2"; \
	for each in prometheus chromium; do command -v $$each > /dev/null || missing="$$missing $$each"; done; \
	command -v mosquitto > /dev/null || test -x /usr/sbin/mosquitto || missing="$$missing mosquitto"; \
	command -v mosquitto_sub > /dev/null || missing="$$missing mosquitto-clients"; \
	test -z "$$missing" \
		|| { test "$$(id -u)" = 0 && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing > /dev/null; } \
		|| echo "not here, and not installed:$$missing; their tests are skipped"

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(MAKE) --no-print-directory protos
	@$(MAKE) --no-print-directory docs
	@git diff --exit-code -- protos docs || { echo "what is generated is not current: run 'make protos docs' and commit" >&2; exit 1; }

protos: $(READY)
	$(BIN)/python -m grpc_tools.protoc -I . \
	  --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
	  --python_out=. --mypy_out=quiet:. --grpc_python_out=. --mypy_grpc_out=quiet:. \
	  $(addprefix ringlight/,$(PROTOS))

docs: $(READY)
	$(BIN)/ringlight metrics --markdown > docs/metrics.md

soak: $(READY)
	$(BIN)/ringlight simulate --endless --nodes 0 --first-seed $$(date +%s)

bench: $(READY)
	$(BIN)/python -m bench

bench-planner: $(READY)
	$(BIN)/python -m bench.scaling --json bench-planner.json

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --extra dev --generate-hashes --no-emit-index-url \
	  --no-header --upgrade --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
