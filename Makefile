# Everything to build, test and show the project; `make` alone lists it.
# cargo resolves features per set of selected packages. So no package is named below: what runs together is built with
# the same features, and nothing is compiled twice. The demo and the upgrade name theirs: they are built from nothing most
# often.

.DEFAULT_GOAL := help
.PHONY: help build install fmt lint test test-scenarios map-test docs docs-oldest nodes conformance upgrade coverage demo bench micro instructions profile soak image release crds ci clean
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

CARGO ?= cargo
# Builds and runs tests.
tests := $(CARGO) --config .ci/tests.toml
# `make demo KEEP=1`: leave it running.
KEEP ?=
# `make demo DEMO=target/debug/fleet-demo`: a build that is there already; its agents lie beside it or in FLEET_AGENTS_DIR.
DEMO ?=
# `make demo NODES=1`: on clusters with nodes; needs root.
NODES ?=
# `make conformance SUITE=mcs-conformance`: the suite, as its user has built it.
SUITE ?=
# `make install PREFIX=~/.local`
PREFIX ?= /usr/local
# `make soak-fuzz STEPS=10000`: a longer one.
STEPS ?= 3000
# `make soak-versions AGAIN=1`: steps that were done on this commit, too.
AGAIN ?=
keep := $(if $(filter-out 0 no false,$(KEEP)),--keep)
nodes := $(if $(filter-out 0 no false,$(NODES)),--nodes)
scripts := $(filter-out %.toml,$(wildcard .ci/*)) $(wildcard e2e/kind/*.sh e2e/kind/stand-in/* e2e/nodes/images/*.sh)
target := $(or $(CARGO_TARGET_DIR),target)

help: ## List the targets
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) \
		| while IFS='|' read -r name text; do printf '  %-13s %s\n' "$$name" "$$text"; done

build: ## Build the agents and tools, release profile
	@.ci/need rust
	$(CARGO) build --release --locked --bins

fmt: ## Format all Rust code
	$(CARGO) fmt --all

lint: ## Check format, lints, generated files, dependencies, scripts; changes nothing
	@.ci/need rust
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) run --quiet --locked --example crdgen -- --check
	@.ci/deny
	@if command -v shellcheck >/dev/null; then shellcheck --external-sources $(scripts); \
	elif [ "$${CI:-}" = true ]; then echo 'shellcheck is missing: apt-get install shellcheck' >&2; exit 1; \
	else echo 'SKIPPED: shellcheck is not installed; scripts are only parsed'; for f in $(scripts); do bash -n $$f; done; fi

# All targets first: the scenario tests start the agents' programs, which `cargo test` alone does not always build.
# With the tests among them the features are the tests' own, so the commands after it compile nothing again.
# Then what is built with Go, once: no test runs beside such a build.
# The processors are what is short: beside the scenarios runs what needs no servers, and gives way to them. Then up to six
# programs of tests at a time, the longest first: while one waits for servers, the others use the processors.
test: ## Run all tests, unit to scenario, the latter on real control planes
	@.ci/need rust control-plane endpointslice-oracle otlp-receiver helm kubectl
	$(tests) build --workspace --all-targets --locked
	@$(target)/debug/examples/programs
	@echo 'Each program of tests reports at its end, the scenarios first: 12 to 30 minutes'
	@$(MAKE) --no-print-directory --jobs=6 --keep-going --output-sync=target test-others test-servers

# By name: with a package, cargo would choose other features and build all again.
e2e := $(basename $(notdir $(wildcard e2e/tests/*)))
# Tests of one program wait for each other, since each has a fleet of its own. So the longest programs run as two: the tests with a
# word in their names, and those without.
halves := traffic+hub multicluster+export fleetctl+doctor
long := charts docs traffic multicluster fleetctl $(halves) virtual_node accumulator lease traces
programs := $(addprefix test-,$(long) $(filter-out $(long),$(e2e)))
.PHONY: test-servers test-others $(programs)

# Control planes are programs in Go, which by default collect garbage for a quarter of their time. They live for a minute: so they
# collect only when there is that much. And each looks for work on every processor, of which there are fewer than programs.
test-scenarios test-others $(programs) docs-oldest: export GOGC = off
test-scenarios test-others $(programs) docs-oldest: export GOMEMLIMIT = 768MiB
test-scenarios test-others $(programs) docs-oldest: export GOMAXPROCS = 1

# The scenarios keep all processors busy, and each control plane costs while it lives: so no other servers beside them.
test-servers:
	@status=0; \
	$(MAKE) --no-print-directory test-scenarios || status=$$?; \
	$(MAKE) --no-print-directory --keep-going $(programs) || status=$$?; \
	exit $$status

# Without MAKEFLAGS, in which cargo would look for a job server that it was not given.
test-scenarios:
	MAKEFLAGS= $(tests) test --workspace --locked --no-fail-fast --test scenarios

$(programs): test-%:
	MAKEFLAGS= $(tests) test --workspace --locked --no-fail-fast --test $(firstword $(subst +, ,$*)) -- \
		$(word 2,$(subst +, ,$*)) $(patsubst $*+%,--skip %,$(filter $*+%,$(halves)))

test-others:
	MAKEFLAGS= nice -n 5 $(tests) test --workspace --exclude fleet-scenarios --exclude fleet-e2e --locked --no-fail-fast

# In `make test` they are run with the newest one.
docs-oldest: ## Run the commands of the pages with the oldest kubectl that is supported, too (3 minutes)
	@.ci/need rust control-plane helm kubectl
	$(tests) build --workspace --all-targets --locked
	MAKEFLAGS= $(tests) test --workspace --locked --test docs -- --ignored

docs: ## Make a book of the pages, with search, in target/book/html
	@.ci/need rust
	@status=0; .ci/book || status=$$?; \
	if [ $$status = 3 ]; then echo 'SKIPPED: the book is not made'; [ "$${CI:-}" != true ]; elif [ $$status != 0 ]; then exit $$status; fi

# Without the smoke test of it, which `make test` runs. The members' agents are programs of their own.
nodes: ## Run the tests of whole clusters, whose Pods call each other; needs root (15 minutes)
	@.ci/need rust control-plane kubectl helm
	@if .ci/need nodes; then \
		$(tests) build --workspace --all-targets --locked && \
		MAKEFLAGS= $(tests) test --workspace --locked --test nodes -- --ignored --skip soak; \
	else echo 'SKIPPED: whole clusters are not tested'; [ "$${CI:-}" != true ]; fi

# One page is in `make test`. Rewrites the pictures of docs/map.md.
map-test: ## Test the map in Debian's Chromium, print its times, and take its pictures (3 minutes)
	@.ci/need rust control-plane
	@if .ci/need chromium; then \
		$(tests) build --workspace --all-targets --locked && \
		MAKEFLAGS= $(tests) test --workspace --locked --test map -- --ignored --test-threads=1 --nocapture; \
	else echo 'SKIPPED: the map is not tested in a browser'; [ "$${CI:-}" != true ]; fi

# kubectl starts a plugin by the name of its file.
install: build ## Install fleetctl and its link kubectl-fleetnet, the plugin of kubectl, into PREFIX/bin (/usr/local)
	install -D $(target)/release/fleetctl $(DESTDIR)$(PREFIX)/bin/fleetctl
	ln -sf fleetctl $(DESTDIR)$(PREFIX)/bin/kubectl-fleetnet

# Outside `make test` and CI, which have the same cases as tests of their own. The suite is its user's.
conformance: ## Run the conformance suite of the MCS API (SUITE=PROGRAM) against whole clusters; needs root
	@[ -n '$(SUITE)' ] || { echo 'SUITE is missing: make conformance SUITE=PROGRAM; docs/conformance/README.md has more'; exit 2; }
	@.ci/need rust control-plane kubectl helm nodes
	$(CARGO) build --profile demo --locked -p hub-agent -p member-agent -p fleet-conformance
	@$(target)/demo/fleet-conformance '$(SUITE)'

# Outside `make test` and CI. The release is built once, from its commit, into the cache of the control planes.
upgrade: ## Upgrade a fleet from the last release and roll it back, in every order (half an hour)
	@.ci/need rust git control-plane helm
	$(CARGO) build --profile demo --locked -p hub-agent -p member-agent -p fleet-upgrade
	@$(target)/demo/fleet-upgrade --report $(target)/upgrade.md

coverage: ## Show how much of the plans the cluster-free tests cover; fails below 95 %
	@.ci/need rust
	@.ci/coverage

demo: ## Show a Service crossing from member to member (KEEP=1 leaves it running, NODES=1 calls Pods)
	@.ci/need rust control-plane $(if $(nodes),nodes helm)
	$(if $(DEMO),,$(CARGO) build --profile demo --locked -p hub-agent -p member-agent -p fleet-demo $(if $(keep),-p fleet-testbed))
	@$(or $(DEMO),$(target)/demo/fleet-demo) $(keep) $(nodes)

bench: ## Measure latencies, bulk operations, API writes and memory (minutes)
	@.ci/need rust control-plane
	$(CARGO) build --release --locked --bin hub-agent --bin member-agent --bin fleet-bench
	@$(CARGO) run --quiet --release --locked --bin fleet-bench

# One profile for all that needs optimized programs with names in them, so that it is built once.
micro: ## Measure plans, snapshots and slice packing: time, allocations (minutes)
	@.ci/need rust
	$(CARGO) bench --profile profiling --workspace --locked --bench agents --bench reconcile --bench footprint

instructions: ## Count the instructions of one endpoint change, with valgrind (RECORD=1 keeps them)
	@.ci/need rust
	@.ci/instructions

# With the tests' features, as all of this profile.
profile: ## Draw flame graphs of the agents at work, with perf (a minute)
	@.ci/need rust control-plane
	$(CARGO) build --profile profiling --workspace --locked --bins --examples
	@$(target)/profiling/fleet-bench --only bulk --profile $(target)/profile --report $(target)/profile/report.json

# Each goes on where it was stopped; docs/soak.md has the last results.
soaks := soak-nightly soak-scale soak-size soak-nodes soak-offload soak-hubs soak-what-if soak-fuzz soak-plans soak-versions soak-upgrade soak-release
.PHONY: $(soaks)
soak: ## Run all long tests, one after the other (hours); docs/soak.md keeps the results
	@status=0; for name in $(soaks); do $(MAKE) --no-print-directory $$name || status=$$?; done; exit $$status

soak-nightly: ## Test what CI does once a day: whole clusters, the oldest kubectl, coverage, instructions; needs root
soak-scale: ## Measure fleets of up to 1000 members, into docs/scale; needs root
soak-size: ## Measure an agent beside 10 000 idle Services, into docs/scale
soak-nodes: ## Test traffic between Pods of whole clusters at full length; needs root
soak-offload: ## Test Pods in other members while links are cut and agents end
soak-hubs: ## Test hubs that are lost, restored or built anew
soak-what-if: ## Compare what is foreseen with what happens, for random actions
soak-fuzz: ## Test hostile input, and random steps beside kube-controller-manager (STEPS=3000)
soak-plans: ## Test 10 000 random plans for a fleet, and a death at each write of some
soak-versions: ## Run the scenarios on hubs and members of Kubernetes 1.34, 1.35 and 1.36
soak-upgrade: ## Upgrade from the last release and roll back, as make upgrade does
soak-release: ## Build a release in two folders and compare the bytes, publish one and verify it

$(soaks): soak-%:
	@AGAIN=$(AGAIN) STEPS=$(STEPS) CARGO=$(CARGO) .ci/soak $*

image: ## Build OCI images of the agents and the CLI, and their bill of materials (ARCHS="amd64 arm64")
	@.ci/need rust image
	@.ci/image

# Needs the pinned Rust. KEY=FILE signs; .ci/release has all variables, docs/release.md how to verify.
release: ## Build the images, charts, packages of fleetctl and the bill for amd64 and arm64, the same bytes each time
	@.ci/need rust image
	@.ci/release

crds: ## Write the CRDs of api/, and the bounds of their fields, as YAML under charts/
	$(CARGO) run --quiet --locked --example crdgen

ci: ## Run what CI runs for a change, but for kind and advisories
	.ci/run

clean: ## Stop leftovers of killed testbeds, remove the target folder
	@for testbed in $(target)/{release,debug,demo}/fleet-testbed; do \
		[ -x $$testbed ] || continue; \
		$$testbed status | sed -n 's/: was killed.*//p' | while read -r name; do $$testbed down --name "$$name"; done; \
		break; \
	done
	$(CARGO) clean
