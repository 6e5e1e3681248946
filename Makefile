# SPDX-License-Identifier: Apache-2.0
# OpenTPT. `make` alone lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

CARGO ?= cargo
# One build serves everything: models, tests and the command line share the release profile.
BUILD_FLAGS := --release --workspace
# The command lies where cargo puts it.
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
TPT := $(TARGET_DIR)/release/tpt
# The second descriptions in rust-hdl: a workspace of its own.
LEAFSPEC := --manifest-path tb/leafspec/Cargo.toml
PY := .venv/bin/python
# Configuration that the replays of `make run` use: small, default or large.
CONFIG ?= default
# Mutants that `make mutants-quick` tries.
MUTANTS ?= 4
# Mutants of `make mutation`.
MUTATIONS ?= 500
# Faults of `make faults`.
FAULTS ?= 10000
# Trials of each attack of `make pythia`.
TRIALS ?= 10000
# Length of `make soak`; numbers of the episodes of `make soak` and `make campaign`; how many at a
# time.
MINUTES ?= 10
FIRST ?= 0
LAST ?= 999
JOBS ?= 2
# Target of `make fuzz` (tb/fuzz), and how long it runs.
TARGET ?= verdicts
SECONDS_OF_FUZZ ?= 60
# Seed of that choice, and of the faults.
SEED ?= 1

# Board of `make bitstream`, see fpga/boards.toml; port of `make board`.
BOARD ?= ulx3s
PORT ?= /dev/ttyUSB0

SCENARIO := scenarios/source-text.tpt
# What `make run` replays: a perftest, a UCX and an Open MPI trace, and the recorded verdicts.
RUN_TRACES := data/traces/pt_write_bw_s65536_q8_mrperqp.jsonl.gz \
	data/traces/ucx_ucp_put_bw_s8192.jsonl.gz data/traces/mpi_rma_np2.jsonl.gz
VERDICTS := $(sort $(wildcard data/conformance/*.jsonl.gz))
ALL_DATA := $(VERDICTS) $(sort $(wildcard data/traces/*.jsonl.gz))

.PHONY: help
help: ## this list
	@echo "OpenTPT: translation and protection unit of an RDMA NIC. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: ## install what is missing: compiler, headers, pinned tools in .venv
	@tools/setup.sh

.PHONY: build
build: setup ## Verilate the RTL, build the testbench and the command tpt
	$(CARGO) build $(BUILD_FLAGS)

.PHONY: run
run: build ## the textbook scenario, recorded programs and recorded verdicts, with a report
	$(PY) tools/run_all.py --tpt $(TPT) --config $(CONFIG) --scenario $(SCENARIO) \
		--traces $(RUN_TRACES) --verdicts $(VERDICTS)

.PHONY: test
test: setup ## all tests; ends with "N passed, N failed"
	$(PY) tools/run_tests.py

.PHONY: replay-all
replay-all: build ## replay every recording in data/ through the RTL
	$(TPT) replay --config $(CONFIG) $(ALL_DATA)

.PHONY: bench
bench: build ## performance figures beside their targets (docs/performance.md)
	@mkdir -p build
	$(TPT) bench --config $(CONFIG) --json build/bench.json

.PHONY: bench-quick
bench-quick: build ## the same, shorter; fails if a clock figure got worse
	@mkdir -p build
	$(TPT) bench --quick --baseline docs/data/bench-quick.json --json build/bench-quick.json

.PHONY: bench-quick-baseline
bench-quick-baseline: build ## renew what bench-quick compares with, when the RTL is meant to change
	$(TPT) bench --quick --json docs/data/bench-quick.json

.PHONY: bench-cocotb
bench-cocotb: build ## simulation speed beside cocotb, which this installs into .venv
	@mkdir -p build
	$(PY) -m pip install --quiet --disable-pip-version-check --no-input \
		-r tools/requirements-cocotb.txt
	$(TPT) bench --config small --python $(PY) --json build/bench-cocotb.json cocotb

.PHONY: faults
faults: build ## 10,000 faults in memory, its port, hosts and clients (FAULTS=10000 SEED=1)
	@mkdir -p build
	$(TPT) faults --config small --count $(FAULTS) --seed $(SEED) --json build/faults.json

.PHONY: faults-quick
faults-quick: build ## the same with 500 of them
	@mkdir -p build
	$(TPT) faults --config small --count 500 --seed $(SEED) --json build/faults-quick.json

.PHONY: pythia
pythia: build ## timing attacks between tenants, without and with partitions (TRIALS=10000 SEED=1)
	@mkdir -p build
	$(TPT) pythia --config small --trials $(TRIALS) --seed $(SEED) --json build/pythia.json

.PHONY: pythia-quick
pythia-quick: build ## the same with 400 trials of each
	@mkdir -p build
	$(TPT) pythia --config small --quick --seed $(SEED) --json build/pythia-quick.json

.PHONY: soak
soak: build ## random episodes in every configuration, all judged (MINUTES=10)
	@mkdir -p build
	$(TPT) soak --minutes $(MINUTES) --seeds $(FIRST).. --jobs $(JOBS) --json build/soak.json

.PHONY: campaign
campaign: build ## the same by numbers, in shards (FIRST=0 LAST=999 JOBS=2)
	@mkdir -p build
	$(TPT) campaign --seeds $(FIRST)..$$(($(LAST) + 1)) --jobs $(JOBS) --json build/campaign.json

.PHONY: fuzz
fuzz: ## one fuzz target with cargo-fuzz, on nightly Rust (TARGET=verdicts SECONDS_OF_FUZZ=60)
	$(CARGO) +nightly fuzz run --fuzz-dir tb/fuzz/libfuzzer $(TARGET) -- \
		-max_total_time=$(SECONDS_OF_FUZZ)

.PHONY: board-sim
board-sim: build ## registration, traffic and refusals on the simulated board, over its serial line
	$(TPT) board --port sim

.PHONY: board
board: build ## the same on a real board (PORT=/dev/ttyUSB0)
	$(TPT) board --port $(PORT)

.PHONY: bitstream
bitstream: setup ## bitstream of a board, with clock and area (BOARD=ulx3s); docs/board.md
	$(PY) tools/bitstream.py --board $(BOARD)

.PHONY: bitstream-smoke
bitstream-smoke: setup ## the same with a reduced unit: that RTL, pins and tools go together
	$(PY) tools/bitstream.py --board $(BOARD) --smoke

.PHONY: lint
lint: setup ## RTL with Verilator, Yosys and Verible in every configuration; clippy; style
	$(PY) tools/lint.py
	@$(MAKE) --no-print-directory clippy

.PHONY: clippy
clippy: ## clippy of all Rust sources
	$(CARGO) clippy $(BUILD_FLAGS) --all-targets -- -D warnings
	$(CARGO) clippy $(LEAFSPEC) --target-dir $(TARGET_DIR)/leafspec --locked -- -D warnings

.PHONY: csr
csr: setup ## renew what follows from the registers' description rtl/tpt_csr.rdl
	$(PY) tools/gen_csr.py
	$(PY) tools/gen_formats.py

.PHONY: guide
guide: setup ## record the sequences of docs/driver.md and draw its picture
	TPT_RECORD=1 $(CARGO) test --release -p tpt-bench --test driver_guide
	$(PY) tools/draw.py

.PHONY: fmt
fmt: ## format the Rust sources
	$(CARGO) fmt --all
	$(CARGO) fmt $(LEAFSPEC)

.PHONY: fmt-check
fmt-check: ## are they formatted?
	$(CARGO) fmt --all --check
	$(CARGO) fmt $(LEAFSPEC) --check

.PHONY: docs
docs: setup ## API documentation, and check of the pages in docs/
	$(PY) tools/check_docs.py
	$(PY) tools/testplan.py --check
	$(PY) tools/formal.py --check
	$(PY) tools/equiv.py --check
	$(PY) tools/gen_queue.py --check
	$(PY) tools/gen_formats.py --check
	$(PY) tools/gen_link.py --check
	$(PY) tools/draw.py --check
	$(PY) tools/plot.py --check
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(BUILD_FLAGS) --no-deps

.PHONY: synth-smoke
synth-smoke: setup ## synthesise the small configuration for ECP5 and print its size
	$(PY) tools/synth.py --config small

# Family of `make route`: a table of fpga/families.toml that has a route.
FAMILY ?= nexus

.PHONY: portability
portability: setup ## map the unit to the families of fpga/families.toml beside ECP5, print its size
	$(PY) tools/route.py

.PHONY: route
route: setup ## place and route a reduced unit for another family (FAMILY=nexus)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-input \
		-r tools/requirements-route.txt
	$(PY) tools/route.py $(FAMILY) --route

.PHONY: packages
packages: setup ## renew opentpt.core, Bender.yml and component.xml; build with FuseSoC and Bender
	$(PY) tools/gen_packages.py
	$(PY) tools/ipxact.py
	$(PY) tools/package_build.py

.PHONY: amd-check
amd-check: setup ## Vivado scripts with stand-ins for Vivado's commands; component.xml
	$(PY) tools/ipxact.py --check
	$(PY) tools/amd_check.py

.PHONY: mutants
mutants: setup ## plant every mutant of tb/mutants.toml in turn; each must make the tests fail
	$(PY) tools/mutants.py

.PHONY: mutants-run
mutants-run: setup ## plant a mutant of each rule of the check; `make run` must fail on each
	$(PY) tools/mutants.py --run

.PHONY: mutants-quick
mutants-quick: setup ## the same with a few of them (MUTANTS=4 SEED=1)
	$(PY) tools/mutants.py --sample $(MUTANTS) --seed $(SEED)

.PHONY: mutation
mutation: setup ## change cells of the unit, one at a time; the tests must notice (MUTATIONS=500)
	$(PY) tools/mutation.py --mutants $(MUTATIONS) --seed $(SEED) --jobs $(JOBS)

.PHONY: coverage
coverage: setup ## lines, branches, cover points and judged cases of all tests (TOGGLE=1: bits, too)
	$(PY) tools/coverage.py $(if $(filter 1,$(TOGGLE)),--toggle)

.PHONY: equiv
equiv: setup ## prove leaf logic, check and netlists equal; find the faults planted in each
	$(PY) tools/equiv.py

.PHONY: equiv-quick
equiv-quick: setup ## the quick proofs, one planted fault each
	$(PY) tools/equiv.py --quick

.PHONY: gate-sim
gate-sim: setup ## replay recorded cases on the ECP5 netlist; then with a fault, which must be seen
	$(PY) tools/gate_sim.py

.PHONY: formal
formal: setup ## formal proofs of tb/formal (docs/formal.md); ends with "formal: N proved, ..."
	$(PY) tools/formal.py

.PHONY: formal-quick
formal-quick: setup ## those of them that take seconds
	$(PY) tools/formal.py --quick

.PHONY: formal-mutants
formal-mutants: setup ## plant every mutant of tb/formal/mutants.toml; its proof must find it
	$(PY) tools/formal.py --mutants

.PHONY: licence
licence: setup ## SPDX lines, licence files, licences of the dependencies
	$(PY) tools/licence.py

.PHONY: ci
ci: setup ## everything that a change must pass
	$(PY) tools/ci.py

.PHONY: clean
clean: ## remove what was built (not .venv)
	$(CARGO) clean
	rm -rf build
