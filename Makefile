# make run: experiment A on the emulated leg.  make test: all tests.  Both make .venv the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= data/experiment_a

.PHONY: run fast pure wheels compiled-check ui test test-fast test-realtime coverage check lint types imports experiments paper bench bench-daemon nightly clean help

help:
	@echo "make run     walk, turn one way, turn the other (experiment A) on the emulated cockroach leg"
	@echo "make fast    compile the core: about 1.6 times as fast, same bytes; needs a C compiler. make pure: as it was"
	@echo "make wheels  a wheel with the compiled core for this Python into dist/, tried in an empty environment"
	@echo "make compiled-check  tests of the compiled core"
	@echo "make experiments  every experiment of the dissertation, 20 repetitions each, with evidence and figures (18 min on two cores), into docs/experiments/"
	@echo "make paper   the figures of a paper as vector PDF, and the table they are drawn from, into build/paper (15 s)"
	@echo "make ui      the workbench in the browser, beside a daemon with an emulated cockroach leg"
	@echo "make test    all tests: test-fast on the virtual clock, then test-realtime, which kills real processes"
	@echo "make check   lint, types, import contracts, tests: what CI runs"
	@echo "make bench   tables into benchmarks/: speed, beside a plain loop and FlyGym (1.5 GB into build/flygym), and what one waits for"
	@echo "make bench-daemon  the daemon in real time beside what the machine can do (15 min), table into benchmarks/"
	@echo "make nightly every configuration over 20 judging seeds, a million inputs into every decoder, 100,000 at the page's server, a million late lines, every kind of bout and a"
	@echo "             hundred mutants verified, wire efficiency of all servos, a browser with a hostile page, floods, 900 terminals held up, a thousand bouts in a sweep and how bouts grow, the workbench for an hour and eight tabs of it, 500 random deaths of the daemon's processes and"
	@echo "             20 of each kind, the daemon for 60 min under load; tables into benchmarks/, docs/fuzz.md, docs/faults.md"
	@echo "make clean   remove .venv and caches (never data/)"

$(VENV)/.sim: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[sim,plot,ui]'
	@touch $@

$(VENV)/.lab: $(VENV)/.sim
	$(BIN)/python -m pip install --quiet --editable '.[sim,plot,ui,lab]'
	@touch $@

$(VENV)/.test: $(VENV)/.lab
	$(BIN)/python -m pip install --quiet --editable '.[sim,plot,ui,lab,dask,mcap,test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable '.[sim,plot,ui,lab,dask,mcap,test,dev]'
	@touch $@

# What checks the workbench's page, where there is npm: TypeScript for its types, axe-core for who can not see it. The page has neither.
$(VENV)/.npm: $(VENV)/.sim
	@if command -v npm >/dev/null; then npm install --silent --no-save --prefix $(VENV) typescript@5 axe-core@4; \
	else echo "NO NPM: types and accessibility of the workbench's page are not checked"; fi
	@touch $@

run: $(VENV)/.sim
	$(BIN)/nuc run lin_roach --script experiment_a --duration 60 --scratch $(OUT) --plot

# What compiles the core, as building/hatch_build.py asks for it of pip.
$(VENV)/.mypyc: $(VENV)/.sim
	$(BIN)/python -m pip install --quiet 'hatchling>=1.24' 'mypy[mypyc]>=2.4,<3' 'setuptools>=65'
	@touch $@

# The checkout stays as it is: the core goes to build/core, and is used as long as the sources are those it was made of.
fast: $(VENV)/.mypyc
	$(BIN)/python building/hatch_build.py

pure: $(VENV)/.mypyc
	$(BIN)/python building/hatch_build.py --remove

wheels: $(VENV)/.sim
	rm -rf build/empty dist/nuc_engine-*-cp*.whl
	NUC_COMPILE=1 $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet "$$(ls dist/nuc_engine-*-cp*.whl)[sim]"
	cd build/empty && bin/nuc --version | grep 'core: compiled' && bin/nuc run lin_roach --duration 1 --scratch out
	rm -rf build/empty

# Against the same tests as Python: bytes, bounds, properties, the oracle. Each process says which core it has.
COMPILED := PYTHONPATH=build/core/site NUC_CORE=compiled
compiled-check: $(VENV)/.dev $(VENV)/.mypyc
	$(BIN)/python building/hatch_build.py --here
	$(COMPILED) $(BIN)/python -m pytest -n 2 -rs tests/compiled tests/conformance tests/verify/test_matrix.py tests/bouts/test_repeat.py \
		tests/engine/test_rulebook.py tests/engine/test_elements.py tests/engine/test_gradual.py tests/engine/test_gravity.py \
		tests/engine/test_tasks.py tests/engine/test_signals.py tests/engine/test_dynamics.py tests/engine/test_influences.py \
		tests/engine/test_central.py tests/engine/test_control_maps.py tests/engine/test_modules.py tests/bouts/test_senses.py \
		tests/verify/test_kinds.py tests/drivers/test_aimotor_codec.py tests/drivers/test_aimotor_emulator.py

ui: $(VENV)/.lab
	$(BIN)/nuc ui --emulated lin_roach

experiments: $(VENV)/.lab
	$(BIN)/nuc experiment all --pages docs/experiments

paper: $(VENV)/.lab
	mkdir -p build/paper
	$(BIN)/nuc experiment table --pages docs/experiments --to build/paper/verdicts.csv
	$(BIN)/python -m benchmarks.paper build/paper/verdicts.csv build/paper

test: test-fast test-realtime

test-fast: $(VENV)/.test $(VENV)/.npm
	$(BIN)/python -m pytest -n 2 tests --ignore=tests/realtime

# Real processes on the real clock, one after the other; what a busy machine spoiled is tried once more, and said so.
test-realtime: $(VENV)/.test $(VENV)/.npm
	$(BIN)/python -m pytest -rs tests/realtime || $(BIN)/python -m pytest -rs --last-failed tests/realtime

# Every line and branch of the codecs is tested: what they let through drives motors.
coverage: $(VENV)/.test
	$(BIN)/python -m pytest -q tests/drivers -k "codec or answers or registers" --cov-branch --cov-fail-under=100 \
		--cov=drivers.aimotor.codec --cov=drivers.aimotor.answers --cov=drivers.dynamixel.codec --cov=drivers.feetech.codec \
		--cov=drivers.framed.registers --cov=drivers.framed.listener

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Elsewhere: what needs no Linux is checked against what Windows and macOS have, and nothing else is known of them.
types: $(VENV)/.dev $(VENV)/.npm
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/pyright --pythonpath $(BIN)/python -p pyright.elsewhere.json --pythonplatform Windows
	$(BIN)/pyright --pythonpath $(BIN)/python -p pyright.elsewhere.json --pythonplatform Darwin
	if [ -x $(VENV)/node_modules/.bin/tsc ]; then $(VENV)/node_modules/.bin/tsc -p tests/ui/tsconfig.json; fi

imports: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types imports coverage test

nightly: $(VENV)/.test
	$(BIN)/python -m pytest -rs tests/realtime/test_browser.py tests/realtime/test_ui_browser.py
	$(BIN)/python -m benchmarks.stepping
	$(BIN)/python -m benchmarks.fuzz
	$(BIN)/python -m benchmarks.webfuzz
	$(BIN)/python -m benchmarks.late
	$(BIN)/python -m benchmarks.verify
	$(BIN)/python -m benchmarks.realtime wakeup exchange roundtrip startup off wire deaths held edits cycles workers floods
	$(BIN)/python -m benchmarks.faults measure
	$(BIN)/python -m benchmarks.sweep --bouts 1000 --dask 3
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.ui_page 60 > benchmarks/UI_PAGE.md
	$(BIN)/python -m benchmarks.ui_eight > benchmarks/UI_EIGHT.md
	$(BIN)/python -m benchmarks.realtime endurance --minutes 60

bench-daemon: $(VENV)/.sim
	$(BIN)/python -m benchmarks.realtime

bench: $(VENV)/.lab
	$(BIN)/python -m benchmarks --flygym
	$(BIN)/python -m benchmarks.waits
	$(BIN)/python -m benchmarks.nerves > benchmarks/NERVES.md
	$(BIN)/python -m benchmarks.budget > benchmarks/BUDGET.md
	$(BIN)/python -m benchmarks.server > benchmarks/SERVER.md

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache
