# csiglab is built and tested by the go command alone; these targets name the
# usual calls. `make` or `make help` lists them.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
CLI := github.com/csiglab/csiglab/cmd/cli/command
LDFLAGS := -s -w -X $(CLI).release=$(VERSION) -X $(CLI).SourceFolder=$(CURDIR)

# Programs are static. Builds, lint and tests have the same flags, so that none compiles again
# what another one has compiled.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath

.DEFAULT_GOAL := help
.PHONY: help build core images test race stress tuning mutants screens demo bench fuzz lint check ci site release clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

build: ## build csiglab, its siblings, csig-switch and csig-host into bin/, static
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

core: ## build what runs without docker: csiglab, csig-switch and csig-host
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/csiglab ./cmd/csig-switch ./cmd/csig-host

images: build ## build the images of csig-switch and csig-host with docker, tagged by content
	@for part in switch host; do \
		image=csiglab/csig-$$part:$$(cat nodes/$$part/Dockerfile bin/csig-$$part | sha256sum | cut -c 1-12); \
		shell=$$(mktemp -d) && mkdir $$shell/bin && ln -s /csig-$$part $$shell/bin/sh && \
		tar -c -C $$PWD/nodes/$$part Dockerfile -C $$PWD/bin csig-$$part -C $$shell bin | docker build --quiet --network none --tag $$image - >/dev/null && rm -r $$shell || exit 1; \
		echo $$image; \
	done

# Tests that execute the programs take those of bin/, so that no package links them again.
test race: export TEST_PROGRAMS := $(CURDIR)/bin

test: build ## run the tests but those that take long; needs neither root nor docker
	go test -short ./...

# By default a program sleeps for a second before it ends, each of those that tests start too.
race: export GORACE := atexit_sleep_ms=10
race: build ## run those of packages with goroutines under the race detector; needs a C compiler
	CGO_ENABLED=1 go test -race -short -timeout 20m $(TESTFLAGS) $$(.ci/packages raced)

stress: build ## what the experiments promise, with ten unseen seeds; takes an hour on two cores
	bin/csiglab stress --all --promised --out stress/all

TUNING ?=
tuning: build ## what shipped experiments owe to tuning (docs/reference/tuning.md): runs those that changed, with TUNING=-anew all, an hour on two cores
	TEST_PROGRAMS=$(CURDIR)/bin go test ./docs -count 1 -run 'TestTuning$$' -timeout 0 -update $(TUNING)

MUTANTS ?=
mutants: ## what tests notice of small mistakes (docs/explanation/mutants.md); takes an hour on two cores, goes on where it ended
	go run ./internal/mutants $(MUTANTS)

screens: build ## look at all dashboards in a real Grafana, at CSIGLAB_GRAFANA_URL, in both themes; pictures go to TEST_SCREENSHOTS
	TEST_PROGRAMS=$(CURDIR)/bin go test ./cmd/cli -count 1 -run 'TestScreens$$' -timeout 60m -v

demo: core ## run the three-flow experiment and name its report
	bin/csiglab demo

bench: ## run the benchmarks, one package after the other
	go test -run '^$$' -bench . -benchmem -benchtime 2s \
		$$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n 1 dirname | sort -u)

FUZZTIME ?= 30s
FUZZ ?= .
# Without a limit, go test shortens each new input for a minute, in which it tries no
# other: FuzzParse of orchestrator/experiment then tries some hundred in minutes.
fuzz: ## fuzz each fuzz test below FUZZ (default: all) for FUZZTIME (default: 30s)
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z]+' $(FUZZ) | sort | sed 's/:func / /' | while read -r file name; do \
		echo "== $$name in $$(dirname $$file)"; \
		go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "./$$(dirname $$file)" || exit 1; \
	done

lint: ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt -w" $$unformatted; exit 1; }
	go vet ./...
	go tool staticcheck ./...

check: lint ## lint, then the rules on imports, purity, comments and file length
	go test ./docs/arrows

ci: ## what CI runs; on Debian it may install packages, if CI=true
	.ci/run

site: ## build the pages of docs/ with search into bin/site; needs mkdocs 1.4, as Debian 12 has it
	mkdocs build --strict --quiet

release: ## make archives for amd64 and arm64 in bin/release, with checksums and lists of modules
	.ci/release

clean: ## remove what build wrote; runs/ stays
	rm -rf bin
