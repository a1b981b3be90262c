# `make help` lists what there is. Nothing here needs Docker.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
ARGS    ?=
MINUTES ?= 2
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Tools are pinned and kept outside the tree, by version, so that `clean` costs no minutes.
TOOLS         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/millrace-tools
GOLANGCI      := $(TOOLS)/golangci-lint-v2.15.0/golangci-lint
WORKFLOWCHECK := $(TOOLS)/workflowcheck-v0.6.0/workflowcheck

S3SERVER      := $(TOOLS)/versitygw-v1.8.0/versitygw

# The version of the Temporal part is that of Temporal's server and a checksum of the sources here, in a fixed order.
TEMPORAL_SOURCES := $(shell find localtemporal -type f \( -name '*.go' ! -name '*_test.go' -o -name go.mod -o -name go.sum \) | LC_ALL=C sort)
TEMPORAL_VERSION := $(shell sed -n 's|^	go.temporal.io/server v||p' localtemporal/go.mod)-$(shell cat $(TEMPORAL_SOURCES) | cksum | cut -d' ' -f1)
BENCHES          := $(patsubst bench/%/main.go,%,$(wildcard bench/*/main.go))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z\/]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build, then run everything on this machine (ARGS="--addr …")
	exec bin/millrace dev $(ARGS)

.PHONY: build
build: postgres bin/millrace bin/millrace-temporal ## build bin/millrace and bin/millrace-temporal

# What the go command says of its downloads is left out: a first build has hundreds of such lines.
QUIET := 2> >(grep -v '^go: downloading ' >&2)

# The linker drops what a debugger needs (-w), so the compiler need not make it.
LEAN := -gcflags=all=-dwarf=false

# make build PGO=on optimises by the profiles of both programs, as releases do; that takes the compiler a fifth longer.
PGO    ?= off
pgo_of  = -pgo=$(if $(filter on,$(PGO)),$(CURDIR)/deploy/release/profiles/$(1).pgo,off)

# Always asked: the compiler knows best what has changed.
.PHONY: bin/millrace
bin/millrace:
	@mkdir -p $(@D)
	@[ -x $@ ] || echo "1/2 building Millrace, about 2 minutes on two cores the first time"
	@CGO_ENABLED=0 $(GO) build $(LEAN) $(call pgo_of,millrace) -ldflags "-w -X github.com/millrace-dev/millrace/internal/config/version.Version=$(VERSION)" -o $@ ./cmd/millrace $(QUIET)

# The Temporal server of local mode. An installed release of the same version is taken as it is; it is built otherwise, which
# takes minutes the first time, so only when its sources change.
bin/millrace-temporal: $(TEMPORAL_SOURCES)
	@mkdir -p $(@D); \
	installed="$${MILLRACE_TEMPORAL_BIN:-$$(command -v millrace-temporal || true)}"; \
	if [ -n "$$installed" ] && [ "$$("$$installed" -version 2>/dev/null)" = "$(TEMPORAL_VERSION)" ]; then \
	  echo "2/2 taking $$installed, which has the same version"; \
	  cp "$$installed" $@.new; touch $@.new; \
	else \
	  echo "2/2 building the Temporal server of local mode, about 2 minutes on two cores the first time"; \
	  cd localtemporal && CGO_ENABLED=0 $(GO) build $(LEAN) $(call pgo_of,millrace-temporal) -ldflags "-w -X main.version=$(TEMPORAL_VERSION)" -o ../$@.new . $(QUIET); \
	fi
	@mv $@.new $@

# Four systems, two programs each: a quarter of an hour without caches.
.PHONY: release
release: ## archives, packages, checksums and bills of materials in dist/ (VERSION=v1.2.3, TARGETS=linux/amd64,…)
	cd deploy/release && $(GO) run . -version "$(VERSION)" -out $(CURDIR)/dist -root $(CURDIR) -only "$(TARGETS)" -temporal "$(TEMPORAL_VERSION)"

ENGINE ?= docker
ARCHES ?= amd64 arm64
.PHONY: images
images: ## images for both architectures of the binaries in dist/: make release first (ENGINE=docker, IMAGE=millrace, ARCHES=amd64)
	@for arch in $(ARCHES); do \
	  [ -x dist/image/$$arch/millrace ] || { echo "dist/image/$$arch/millrace is missing: make release" >&2; exit 1; }; \
	  $(ENGINE) build --platform linux/$$arch --build-arg BINARIES=release --build-arg TARGETARCH=$$arch -t $(or $(IMAGE),millrace):$(VERSION)-$$arch . || exit 1; \
	done

# PostgreSQL's programs, for the private server of local mode and the tests.
.PHONY: postgres
postgres:
	@if [ -n "$${DATABASE_URL:-}" ] && [ -n "$${TEMPORAL_ADDRESS:-}" ]; then exit 0; fi; \
	if ls /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres /opt/homebrew/opt/postgresql*/bin/postgres \
	      /usr/local/opt/postgresql*/bin/postgres /home/linuxbrew/.linuxbrew/opt/postgresql*/bin/postgres 2>/dev/null | grep -q . \
	   || command -v postgres >/dev/null || { command -v pg_config >/dev/null && [ -x "$$(pg_config --bindir)/postgres" ]; }; then exit 0; fi; \
	echo "installing PostgreSQL"; \
	if command -v apt-get >/dev/null; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -q && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -q -y --no-install-recommends postgresql; \
	elif command -v brew >/dev/null; then brew install postgresql@16; \
	else echo "PostgreSQL is missing, and neither apt-get nor brew is here: install PostgreSQL 15 or later" >&2; exit 1; fi

.PHONY: ffmpeg
ffmpeg: ## install ffmpeg, for the node classes of sound and video; their tests are skipped without it
	@if command -v ffmpeg >/dev/null; then exit 0; fi; \
	if command -v apt-get >/dev/null; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -q && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -q -y --no-install-recommends ffmpeg; \
	elif command -v brew >/dev/null; then brew install ffmpeg; fi

.PHONY: test
test: export MILLRACE_TEST_S3_SERVER := $(S3SERVER)
test: postgres bin/millrace-temporal $(S3SERVER) ## test every module, with real PostgreSQL, Temporal and S3 server (ARGS="-run …"); make lint vets them
	$(GO) test -tags stress -timeout 40m $(ARGS) ./... # stress: the tests of subscribers that Watermill brings wait five times longer
	$(GO) -C test test -p 3 -timeout 40m $(ARGS) ./durability ./servers ./clients ./... # three at a time, since they wait; the longest first
	$(GO) -C localtemporal test $(ARGS) ./...
	$(GO) -C deploy/helm test ./...
	$(GO) -C deploy/release test ./...

# What changed since the branch left BASE, and in the working tree, decides what is linted and tested: see CONTRIBUTING.md.
BASE ?= main
.PHONY: check
check: $(GOLANGCI) ## what to run before each commit: vet everything, lint and test what changed since BASE=main
	@GO="$(GO)" GOLANGCI="$(GOLANGCI)" BASE="$(BASE)" .ci/check

.PHONY: test/race
test/race: postgres bin/millrace-temporal ## the tests under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 30m $(ARGS) ./...
	CGO_ENABLED=1 $(GO) -C test test -race -timeout 30m $(ARGS) ./...

# Where goroutines meet, and quick enough for every change.
RACE_CORE := ./activities/... ./workflows ./internal/eventlog ./internal/engine/graph ./internal/domain/job ./internal/domain/outbox \
	./internal/engine/raster ./internal/stream/... ./internal/postgres/committer ./api/limit ./projections/fanout

.PHONY: test/core
test/core: ## the concurrent core under the race detector
	CGO_ENABLED=1 $(GO) test -race $(RACE_CORE)

.PHONY: test/chaos
test/chaos: postgres bin/millrace-temporal ## kill and stop parts of a running service at random, and look for what was lost (MINUTES=…, ARGS="-seed …")
	$(GO) -C test build -o $(CURDIR)/bin/chaos ./chaos
	bin/chaos -minutes $(MINUTES) $(ARGS)

SCHEMATHESIS  := $(TOOLS)/schemathesis-4.32.5
.PHONY: test/generated
test/generated: postgres bin/millrace-temporal ## requests generated from the OpenAPI document, two minutes of them; installs schemathesis from PyPI
	@[ -x $(SCHEMATHESIS)/bin/schemathesis ] || { python3 -m venv $(SCHEMATHESIS) && $(SCHEMATHESIS)/bin/pip install --quiet schemathesis==4.32.5; }
	MILLRACE_SCHEMATHESIS=$(SCHEMATHESIS)/bin/schemathesis $(GO) -C test test ./generated -count=1 -v

.PHONY: test/large
test/large: ## a file of 2 GiB from a simulated ComfyUI server, through the whole service
	MILLRACE_TEST_LARGE_FILES=1 $(GO) -C test test -count=1 -timeout 30m -v -run '^TestLimits$$/file' $(ARGS) ./servers

.PHONY: test/compose
test/compose: bin/millrace bin/millrace-temporal ## run docker-compose.yml and a job through it; builds images, and stand-ins for those that the engine lacks
	mkdir -p dist/image/$(shell $(GO) env GOARCH) && cp bin/millrace dist/image/$(shell $(GO) env GOARCH)/
	MILLRACE_TEST_COMPOSE=1 $(GO) -C test test ./compose -count=1 -v -timeout 20m

# The release before is the program of the commit that changed the schema last: an older one could not be gone back to. Where
# history does not have it, both releases are the same program.
PREVIOUS ?= $(shell git log -1 --format=%h -- internal/postgres/migrations 2>/dev/null)
.PHONY: test/cluster
test/cluster: postgres bin/millrace bin/millrace-temporal $(S3SERVER) ## a cluster of seven processes under load: an upgrade from the release before and back, kills (PREVIOUS=COMMIT)
	@rm -f bin/millrace-previous; tree=$$(mktemp -d); trap 'git worktree remove --force $$tree 2>/dev/null || rm -rf $$tree' EXIT; \
	if [ -n "$(PREVIOUS)" ] && git worktree add -q --detach $$tree $(PREVIOUS) 2>/dev/null; then \
	  echo "building the release before, $(PREVIOUS)"; \
	  (cd $$tree && CGO_ENABLED=0 $(GO) build -ldflags "-X github.com/millrace-dev/millrace/internal/config/version.Version=$(PREVIOUS)" -o $(CURDIR)/bin/millrace-previous ./cmd/millrace); \
	fi; \
	previous=$(CURDIR)/bin/millrace-previous; [ -x $$previous ] || previous=; \
	MILLRACE_TEST_CLUSTER=1 MILLRACE_TEST_PREVIOUS=$$previous MILLRACE_TEST_S3_SERVER=$(S3SERVER) $(GO) -C test test ./cluster -count=1 -v -timeout 10m $(ARGS)

.PHONY: test/comfyui
test/comfyui: ## the conformance suite on real ComfyUI servers (COMFYUI=http://…[,http://…]); each needs a checkpoint
	@[ -n "$(COMFYUI)" ] || { echo "COMFYUI names no servers: make test/comfyui COMFYUI=http://127.0.0.1:8188" >&2; exit 1; }
	MILLRACE_TEST_COMFYUI=$(COMFYUI) $(GO) test -p 1 -count=1 -timeout 30m -v -run '^TestRealServers' $(ARGS) ./internal/comfyui/...

.PHONY: test/compare
test/compare: postgres bin/millrace-temporal ## random graphs here and on a ComfyUI server, compared (COMFYUI=http://…, GRAPHS=300, SEED=1, WRONG=1)
	@[ -n "$(COMFYUI)" ] || { echo "COMFYUI names no server: make test/compare COMFYUI=http://127.0.0.1:8188" >&2; exit 1; }
	MILLRACE_TEST_COMFYUI=$(COMFYUI) GRAPHS=$(GRAPHS) SEED=$(SEED) WRONG=$(WRONG) $(GO) -C test test -count=1 -timeout 60m -v -run '^TestGraphs' $(ARGS) ./compare

.PHONY: test/packs
test/packs: postgres bin/millrace-temporal ## graphs of node packs through Millrace and on a ComfyUI server, compared (COMFYUI=http://…[,http://…])
	MILLRACE_TEST_COMFYUI=$(COMFYUI) $(GO) -C test test -count=1 -timeout 30m -v -run '^TestPacks' $(ARGS) ./compare

.PHONY: bench
bench: postgres $(BENCHES:%=bench/%) ## measure: the programs in bench/, one after the other

.PHONY: $(BENCHES:%=bench/%)
$(BENCHES:%=bench/%): bench/%:
	@echo "== $*"
	$(GO) run ./bench/$* $(ARGS)

bench/compare: export MILLRACE_TEST_S3_SERVER := $(S3SERVER)
bench/compare: $(S3SERVER)

PROFILES := $(CURDIR)/deploy/release/profiles
.PHONY: profile
profile: postgres bin/millrace bin/millrace-temporal ## record anew what both programs do under load, by which the compiler optimises releases (and make build PGO=on)
	$(GO) run ./bench/cost -profile $(PROFILES)/millrace.pgo -profile-temporal $(PROFILES)/millrace-temporal.pgo

.PHONY: histories
histories: postgres bin/millrace-temporal ## record the workflow histories that the replay tests use
	$(GO) -C test test ./durability -count=1 -run TestHistoriesOfRealRunsReplay -record
	$(GO) -C test test ./calls -count=1 -run 'TestHistoriesOfRealCallsReplay|TestTheWorkflowOfAShortCallIsOneTask' -record
	$(GO) -C test test ./e2e -count=1 -run TestSweepRemovesExpiredAssetsExceptThoseJobsNeed -args -record

RELEASE ?= $(shell sed -n 's/^const Base = "\(.*\)"/\1/p' internal/config/version/version.go)
.PHONY: release/data
release/data: postgres bin/millrace-temporal ## record the data of a service, which later versions must serve; with each tag (RELEASE=1.2.3)
	$(GO) -C test test ./durability -count=1 -run TestDataOfAReleaseIsRecorded -release $(RELEASE)

.PHONY: fmt
fmt: $(GOLANGCI) ## format the code
	$(GOLANGCI) fmt ./...
	for module in test localtemporal; do (cd $$module && $(GOLANGCI) fmt --config ../.golangci.yml ./...) || exit 1; done

.PHONY: lint
lint: $(GOLANGCI) $(WORKFLOWCHECK) ## format check, linters, import rules, workflow determinism
	@changes=$$($(GOLANGCI) fmt --diff ./...) || { echo "$$changes"; echo "run: make fmt" >&2; exit 1; }
	$(GOLANGCI) run ./...
	for module in test localtemporal; do (cd $$module && $(GOLANGCI) run --config ../.golangci.yml ./...) || exit 1; done
	$(WORKFLOWCHECK) ./workflows/...

.PHONY: generate
generate: ## write what is generated: docs/nodes.md, docs/nodes/*.md
	$(GO) generate ./...

.PHONY: verify
verify: ## fail when generated code or go.mod is stale, or another platform does not compile
	$(GO) generate ./...
	for module in . test localtemporal deploy/helm deploy/release; do $(GO) -C $$module mod tidy -diff || exit 1; done
	git diff --exit-code
	for system in darwin linux; do for module in . test; do \
	  GOOS=$$system GOARCH=arm64 CGO_ENABLED=0 $(GO) -C $$module build ./... || exit 1; done; done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist coverage.out

$(GOLANGCI):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(lastword $(subst golangci-lint-,,$(notdir $(@D))))

$(S3SERVER):
	GOBIN=$(@D) $(GO) install github.com/versity/versitygw/cmd/versitygw@$(lastword $(subst versitygw-,,$(notdir $(@D))))

$(WORKFLOWCHECK):
	GOBIN=$(@D) $(GO) install go.temporal.io/sdk/contrib/tools/workflowcheck@$(lastword $(subst workflowcheck-,,$(notdir $(@D))))
