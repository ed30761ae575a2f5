# Every target is one line below; `make` alone lists them.

BIN      := bin
TOOLS    := $(BIN)/tools
COMMANDS := $(notdir $(wildcard cmd/*))
VERSION  ?= $(shell git describe --tags --dirty 2>/dev/null || echo devel)
COMMIT   ?= $(shell git describe --always --abbrev=12 --dirty --exclude '*' 2>/dev/null)
INFO     := fairlead/internal/buildinfo
LDFLAGS  := -s -w -X $(INFO).version=$(VERSION) -X $(INFO).commit=$(COMMIT)
COMPOSE  ?= $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
INPUTS   ?= 300000
BENCH    ?= .
COUNT    ?= 5
FAULTS   ?= 40
PKG      ?= ./...
TRACES   ?= ../shared/traces

# Packages with tests that the race detector would falsify, and with golden files.
packages_with = $(sort $(foreach f,$(shell grep -rlE --include='*_test.go' --exclude-dir=tools '$(1)' .),$(dir $(f))))

.DEFAULT_GOAL := help
.PHONY: help build demo experiments test race slow chaos fuzz bench golden lint fmt depcheck tools images up down logs cli clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build every command into bin/, with version and commit
	@mkdir -p $(BIN)
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ $(addprefix ./cmd/,$(COMMANDS))

demo: build ## replay a recorded trace through a whole system on this machine
	$(BIN)/fairlead demo $(ARGS)

experiments: build ## write docs/experiments.md anew, with its figures; TRACES is a folder of whole traces
	$(BIN)/fairlead sim figures --out $(BIN)/figures --docs docs --traces $(TRACES) $(ARGS)

test: ## run the tests, with the race detector
	go test -race ./...
	$(if $(NORACE),go test $(NORACE))

test: NORACE = $(call packages_with,^//go:build .*!race)

race: ## run the tests three times, shuffled, with the race detector
	go test -race -count=3 -shuffle=on $(PKG)

slow: ## run the long tests too, without the race detector
	go test -tags slow -timeout 30m $(PKG)

chaos: ## break a whole system FAULTS (40) times, by SEED (a new one), and check its promises
	go run ./chaos --faults $(FAULTS) $(if $(SEED),--seed $(SEED)) $(ARGS)

fuzz: ## fuzz every target with INPUTS (300000) inputs
	@.ci/fuzz $(INPUTS)x

bench: $(TOOLS)/benchstat ## run BENCH (all) in PKG COUNT (5) times; medians in the end
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG) | tee $(BIN)/bench.txt
	$(TOOLS)/benchstat $(BIN)/bench.txt

golden: ## rewrite the golden files; review them like code
	go test $(call packages_with,flag.Bool."update") -update

lint: $(TOOLS)/golangci-lint ## check style and common mistakes
	$(TOOLS)/golangci-lint run

fmt: $(TOOLS)/golangci-lint ## format the code
	$(TOOLS)/golangci-lint fmt

depcheck: ## check that dependencies point down and pure packages are pure
	go test -count=1 ./internal/depcheck

tools: $(TOOLS)/golangci-lint $(TOOLS)/nats $(TOOLS)/benchstat ## build the pinned tools into bin/tools

$(TOOLS)/golangci-lint: TOOL = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/nats: TOOL = github.com/nats-io/natscli/nats
$(TOOLS)/benchstat: TOOL = golang.org/x/perf/cmd/benchstat
$(TOOLS)/%: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	cd tools && go build -o ../$@ $(TOOL)
	@touch $@

images: ## build a container image for every command, and for nats-server
	@mkdir -p $(BIN)/image/data
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/image/ $(addprefix ./cmd/,$(COMMANDS)) ./deploy/steady
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '-s -w' -o $(BIN)/image/nats-server github.com/nats-io/nats-server/v2
	set -e; for c in $(COMMANDS) nats-server steady; do docker build -q -f deploy/Dockerfile --target $$c -t fairlead/$$c $(BIN)/image; done

# Files of compose, and profiles, for NATS=external and PROFILE=engines.
EXTERNAL := nats://nats-1:4222,nats://nats-2:4222,nats://nats-3:4222
compose   = $(if $(NATS),FAIRLEAD_NATS_URL=$(EXTERNAL)) COMPOSE_PROFILES=$(PROFILE) $(COMPOSE) -f deploy/compose.yaml $(if $(NATS),-f deploy/compose.nats.yaml)

up: images down ## start three brokers, two gateways and four workers with compose (NATS=external, PROFILE=engines)
	$(compose) up -d

down: ## stop them; queue and keys stay in their volumes
	$(compose) down $(ARGS)

logs: ## print what they logged
	$(compose) logs

cli: ## run fairlead among them, as an operator: make cli ARGS=status
	@$(compose) run --rm cli $(ARGS)

clean: ## remove bin/
	rm -rf $(BIN)
