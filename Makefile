GO ?= go
BIN := bin
# The same for go build -C, which looks at paths from its own folder. (abspath would take a
# folder with a space in its name for two.)
TOOLS = '$(if $(filter /%,$(BIN)),$(BIN),$(CURDIR)/$(BIN))'
# Built and then run in place of the shell: a signal that ends make reaches it, and go run
# would keep it to itself.
CONTROLPLANE = $(GO) build -o $(BIN)/controlplane ./test/cluster/cmd/controlplane && exec $(BIN)/controlplane
# How long one fuzz target runs in `make fuzz`.
FUZZTIME ?= 30s
# How seldom the API servers of `make test` collect garbage: at 300, each takes half a gigabyte
# more and a sixth less of CPU time, which is what the tests wait for.
CLUSTER_GOGC ?= 300
DIST ?= dist
# Where the images are to be pushed, and where their source is.
REGISTRY ?= ghcr.io/k8sconnect
SOURCE ?= https://github.com/k8sconnect/kubectl-k8sconnect
IMAGE_PLATFORMS ?= linux/amd64 linux/arm64
# Version, commit and date; and the version as images and charts write it: 1.2.3 of the tag v1.2.3.
STAMP = $(shell VERSION='$(VERSION)' test/release/stamp.sh)
SEMVER = $(subst +,-,$(patsubst v%,%,$(word 1,$(STAMP))))
CHART := charts/k8sconnect
# The platforms that a release is for, and the version that it has instead of the tag's.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
export VERSION ?=
# Nothing here needs cgo: without it, no C compiler is needed, and tests, linter and generators
# share what is compiled.
export CGO_ENABLED ?= 0
# Errors are written otherwise in a job of GitHub's, and tests compare them.
unexport GITHUB_ACTIONS
# By this one command every program is built that is handed out: static, stamped with
# version, commit and date, and the same to the byte wherever it is built.
GOBUILD = stamp=$$(test/release/stamp.sh -X) || exit 1; \
  CGO_ENABLED=0 GOFLAGS=-trimpath GOAMD64=v1 GOARM64=v8.0 GOWORK=off \
  $(GO) build -buildvcs=false -ldflags "-s -w $$stamp"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the plugin and the webhook into bin/
	$(GOBUILD) -o $(BIN)/kubectl-k8sconnect ./cmd/kubectl-k8sconnect
	$(GOBUILD) -o $(BIN)/webhook ./cmd/webhook

.PHONY: binaries
binaries: ## build the plugin for PLATFORMS, and the webhook for those with Linux, into dist/binaries/OS_ARCH/
	@set -e; for platform in $(PLATFORMS); do \
	  export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
	  to='$(DIST)'/binaries/$${GOOS}_$$GOARCH; echo "$$to"; \
	  $(GOBUILD) -o "$$to/" ./cmd/kubectl-k8sconnect; \
	  if [ $$GOOS = linux ]; then $(GOBUILD) -o "$$to/" ./cmd/webhook; fi; \
	done

RELEASE = $(GO) run ./test/release -dist '$(DIST)' -platforms '$(PLATFORMS)'

# What a release has besides the archives.
RELEASE_TOO ?= images chart-package

.PHONY: release
release: ## make what is published for a tag (VERSION=vX.Y.Z for another version) into dist/ (DIST=folder for another), and inspect it
	@# A new folder that git sees would be a change of the source, between the steps below;
	@# and what lies in a folder of another name may be somebody's.
	@git check-ignore -q -- '$(DIST)/x' 2>/dev/null; if [ $$? = 1 ]; then \
	  echo 'release: to git, $(DIST) is part of the source; name a folder outside of it, or leave it at dist' >&2; exit 1; fi
	@if [ '$(DIST)' = dist ]; then rm -rf dist; elif [ -n "$$(ls -A '$(DIST)' 2>/dev/null)" ]; then \
	  echo 'release: $(DIST) is not empty, and all that is in it would be published; empty it, or name another folder' >&2; exit 1; fi
	@$(MAKE) --no-print-directory binaries
	$(RELEASE) archives
	@$(if $(RELEASE_TOO),$(MAKE) --no-print-directory $(RELEASE_TOO))
	$(RELEASE) checksums
	RELEASE_DIST='$(DIST)' RELEASE_PLATFORMS='$(PLATFORMS)' $(GO) test -count 1 -run '^TestPublished$$' ./test/release

.PHONY: release-tagged
release-tagged: release ## the same for a tag: fail unless krew-manifest.yaml, CHANGELOG.md and the chart say its version
	$(RELEASE) tagged

.PHONY: krew-ready
krew-ready:
	@$(RELEASE) ready

.PHONY: krew-manifest
krew-manifest: krew-ready release ## write krew-manifest.yaml for VERSION=vX.Y.Z, before its tag
	cp '$(DIST)'/krew-manifest.yaml krew-manifest.yaml

.PHONY: krew-test
krew-test: $(BIN)/krew ## build this commit's archive for this machine, install it by krew, and call it through kubectl
	@dist=$$(mktemp -d) && trap 'rm -rf "$$dist"' EXIT && \
	  $(MAKE) --no-print-directory release DIST="$$dist" PLATFORMS="$$($(GO) env GOOS)/$$($(GO) env GOARCH)" RELEASE_TOO= && \
	  sh test/release/krew.sh $(TOOLS)/krew "$$dist"

.PHONY: images
images: ## both container images for all platforms into dist/: OCI layouts, and archives for docker load
	@$(MAKE) --no-print-directory binaries PLATFORMS='$(IMAGE_PLATFORMS)'
	@$(GO) build -C test/tools/images -o $(TOOLS)/images .
	@$(GO) run ./test/release -dist '$(DIST)' -platforms '$(IMAGE_PLATFORMS)' notices
	@rm -f '$(DIST)'/*.oci.tar '$(DIST)'/*.docker.tar
	@$(BIN)/images -dist '$(DIST)' -registry $(REGISTRY) -source $(SOURCE) -platforms '$(IMAGE_PLATFORMS)' \
	  -version $(SEMVER) -revision '$(word 2,$(STAMP))' -created '$(word 3,$(STAMP))'

.PHONY: push-images
push-images: $(BIN)/crane ## push them to where REGISTRY said when they were made, and print their digests
	@test/tools/images/push.sh '$(DIST)' $(BIN)/crane

.PHONY: chart-package
chart-package: $(BIN)/helm ## the webhook's chart as one file into dist/, with this version and the image of this version
	@rm -rf '$(DIST)'/chart '$(DIST)'/k8sconnect-*.tgz && mkdir -p '$(DIST)'/chart && cp -R $(CHART) '$(DIST)'/chart/
	@sed 's|repository: ghcr.io/k8sconnect/webhook|repository: $(REGISTRY)/webhook|' $(CHART)/values.yaml >'$(DIST)'/chart/$(notdir $(CHART))/values.yaml
	@# Helm keeps the files' times: with that of the commit, the package is the same each time.
	@find '$(DIST)'/chart -exec touch -d '$(or $(word 3,$(STAMP)),1980-01-01T00:00:00Z)' {} +
	@$(BIN)/helm package '$(DIST)'/chart/$(notdir $(CHART)) --version $(SEMVER) --app-version $(SEMVER) --destination '$(DIST)'
	@rm -rf '$(DIST)'/chart

.PHONY: install
install: ## install the plugin where Go installs programs; kubectl finds it there if that is on the PATH
	$(subst go build,go install,$(GOBUILD)) ./cmd/kubectl-k8sconnect

.PHONY: demo
demo: ## see it work: a real control plane, a conflict, and two ways out; builds what that needs
	@bash test/demo/demo.sh

# Tests that have a control plane also wait, so four packages run at once even on two cores, and
# those that take longest first. The linter has vetted them. Without debug information, linking
# takes half the time, and without cgo, half of what is left. Each program lives for a moment, and
# would spend a fifth of it collecting garbage.
GOTEST = GOGC=400 CLUSTER_GOGC=$(CLUSTER_GOGC) $(GO) test -vet=off -ldflags=-w -p $(ATONCE) -parallel 4
ATONCE = $(shell n=$$(getconf _NPROCESSORS_ONLN); [ "$$n" -gt 4 ] 2>/dev/null || n=4; echo "$$n")
LONGEST_FIRST = ./test/e2e ./test/e2e/scripts ./test/e2e/... ./test/... ./...
TESTED = build cluster-build $(BIN)/helm $(BIN)/jq

.PHONY: test
test: $(TESTED) ## what has to pass before a change lands, on a real control plane
	$(GOTEST) -timeout 30m $(LONGEST_FIRST)

.PHONY: test-full
test-full: $(TESTED) ## all tests: every row of the tables, all pages, releases, the judges, the benches' results; each night
	TEST_FULL=1 $(GOTEST) -timeout 90m $(LONGEST_FIRST)
	@$(MAKE) --no-print-directory bench-short
	@$(MAKE) --no-print-directory bench-peers PEERSFLAGS='--short --set none'

.PHONY: test-times
test-times: $(TESTED) ## the CPU seconds of each test with a control plane, of TEST_FULL=1 too, as a table: what test/README.md has
	@$(GO) build -o $(BIN)/times ./test/times
	@echo '| CPU s | package | test | circle | what it covers |'; echo '| --: | --- | --- | --- | --- |'
	@$(GOTEST) -timeout 3h -count 1 -p 1 -parallel 1 -v -exec $(TOOLS)/times ./test/cluster ./test/demo ./test/docs ./test/e2e/... ./test/images ./test/property ./test/release | grep '^| ' | sort -t '|' -k 2 -rn

.PHONY: docs
docs: build cluster-build $(BIN)/helm $(BIN)/jq ## run what README and docs/*.md show, and renew outputs and pictures that are stale (PAGE=wait,diff for some pages)
	PAGE='$(PAGE)' $(GO) test -count 1 -timeout 20m -run TestPages ./test/docs -update -v

.PHONY: test-unit
test-unit: ## the tests that need no control plane
	GOGC=400 $(GO) test -short ./...

.PHONY: test-minor
test-minor: minor-named build $(BIN)/helm ## all stories on another minor of Kubernetes (K8S_MINOR=1.35); those there are: test/cluster/tools
	@$(MAKE) --no-print-directory cluster-build
	TEST_FULL=1 $(GO) test -count 1 -timeout 60m ./test/cluster/... ./test/e2e/...

.PHONY: minor-named
minor-named:
	@[ -n '$(K8S_MINOR)' ] || { echo 'test-minor: K8S_MINOR=… names one of $(notdir $(wildcard test/cluster/tools/1.*))' >&2; exit 1; }

# How many random histories each property looks at in `make test-long`.
CASES ?= 20000

.PHONY: test-long
test-long: build cluster-build $(BIN)/helm ## the properties over CASES random objects each (SEED=… for others), all real sets, the judges at full size; some hours
	CASES=$(CASES) $(GO) test -count 1 -timeout 6h ./test/property
	TEST_LONG=1 $(GO) test -count 1 -timeout 6h -run 'TestSets|TestMigration|TestManagedFields|TestOwnership' ./test/e2e ./test/e2e/migration
	TEST_LONG=1 $(GO) test -count 1 -timeout 6h ./test/e2e/judge ./test/e2e/faults
	TEST_LONG=1 $(GO) test -count 1 -timeout 2h ./test/release
	TEST_LONG=1 $(GO) test -count 1 -run TestPrintedManifestsRoundTrip ./pkg/cli
	TEST_LONG=1 GOGC=300 $(GO) test -count 1 -v -timeout 1h -run TestSize ./pkg/webhook/tracker ./pkg/webhook/recorder

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME
	@set -e; for p in $$($(GO) list ./pkg/...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; \
	  done; done

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/actionlint ## linters, formatting, tidy modules, workflows
	$(BIN)/golangci-lint run ./...
	$(BIN)/golangci-lint fmt --diff ./...
	$(GO) mod tidy -diff
	cd test/library && $(GO) mod tidy -diff
	cd test/bench/peers && $(GO) mod tidy -diff
	$(BIN)/actionlint -shellcheck= -pyflakes=

.PHONY: generate
generate: ## write the tables of deprecated APIs and fields from pinned releases of Kubernetes, and the list of imports
	test/docs/imports.sh >docs/design/imports.md
	$(GO) run ./test/lifecycles
	$(GO) test ./pkg/deprecation -run TestChart -update

.PHONY: generate-check
generate-check: ## fail if these are stale
	test/docs/imports.sh | diff docs/design/imports.md -
	$(GO) run ./test/lifecycles -check
	$(GO) test ./pkg/deprecation -run TestChart

.PHONY: tidy
tidy: ## tidy go.mod, and those of test/library and test/bench/peers, which follow it
	$(GO) mod tidy
	cd test/library && $(GO) mod tidy
	cd test/bench/peers && $(GO) mod tidy

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## format the code
	$(BIN)/golangci-lint fmt ./...

$(BIN)/golangci-lint: test/tools/go.mod test/tools/go.sum
	$(GO) build -C test/tools -o $(TOOLS)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/actionlint: test/tools/actionlint/go.mod test/tools/actionlint/go.sum
	$(GO) build -C test/tools/actionlint -trimpath -ldflags '-s -w' -o $(TOOLS)/actionlint github.com/rhysd/actionlint/cmd/actionlint

# jq, for the pages that pipe into it: the one that is written in Go.
$(BIN)/jq: test/tools/jq/go.mod test/tools/jq/go.sum
	$(GO) build -C test/tools/jq -trimpath -ldflags '-s -w' -o $(TOOLS)/jq github.com/itchyny/gojq/cmd/gojq

$(BIN)/helm: test/tools/helm/go.mod test/tools/helm/go.sum
	$(GO) build -C test/tools/helm -trimpath -ldflags '-s -w' -o $(TOOLS)/helm helm.sh/helm/v4/cmd/helm

$(BIN)/krew: test/tools/krew/go.mod test/tools/krew/go.sum
	$(GO) build -C test/tools/krew -trimpath -ldflags '-s -w' -o $(TOOLS)/krew sigs.k8s.io/krew/cmd/krew

$(BIN)/crane: test/tools/images/go.mod test/tools/images/go.sum
	$(GO) build -C test/tools/images -trimpath -ldflags '-s -w' -o $(TOOLS)/crane github.com/google/go-containerregistry/cmd/crane

.PHONY: chart-lint
chart-lint: $(BIN)/helm ## check the webhook's chart: lint, rendering of several value sets, what its schema refuses
	@set -e; for values in $(CHART)/values.yaml $(CHART)/ci/*.yaml; do \
	  echo "$$values"; $(BIN)/helm lint --quiet --strict $(CHART) -f $$values; done
	$(GOTEST) ./test/chart/

.PHONY: cluster-build
cluster-build: ## build etcd, kube-apiserver, controllers, scheduler, kwok and kubectl (once, several minutes)
	@$(CONTROLPLANE) build

.PHONY: cluster-up
cluster-up: ## start a real control plane on loopback; prints export KUBECONFIG=…
	@$(CONTROLPLANE) up

.PHONY: cluster-down
cluster-down: ## stop it
	@$(CONTROLPLANE) down

.PHONY: webhook-up
webhook-up: build $(BIN)/helm cluster-build ## a real control plane with the webhook, installed by its chart, until Ctrl-C; prints export KUBECONFIG=…
	@$(GO) build -o $(BIN)/companion ./test/companion/cmd/companion && exec $(BIN)/companion

.PHONY: cluster-status
cluster-status: ## say whether it runs
	@$(CONTROLPLANE) status

.PHONY: bench
bench: build cluster-build ## speed beside kubectl and the raw limit, as Markdown; two hours (BENCHFLAGS=--help)
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench --bin $(BIN) $(BENCHFLAGS)
	@$(if $(BENCHFLAGS),,$(MAKE) bench-webhook)

.PHONY: bench-peers
bench-peers: build $(BIN)/helm $(BIN)/peers cluster-build ## speed beside kubectl, Flux and Helm, as Markdown; an hour (PEERSFLAGS=--short for a minute: right or wrong only)
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench --bin $(BIN) --peers $(PEERSFLAGS)

# Flux's library as a program; it takes minutes to compile, once.
$(BIN)/peers: test/bench/peers/main.go test/bench/peers/go.mod test/bench/peers/go.sum
	$(GO) build -C test/bench/peers -o $(TOOLS)/peers .

.PHONY: bench-webhook
bench-webhook: build $(BIN)/helm cluster-build ## what the webhook costs who writes, and the tracker's memory, as Markdown; a quarter of an hour
	$(GO) test -count 1 -timeout 3h -v ./test/bench/admission -args -rounds 3 $(BENCHFLAGS)

.PHONY: bench-short
bench-short: build $(BIN)/helm cluster-build ## the same with small sets, once: it fails on wrong results, never on time
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench --bin $(BIN) --short $(BENCHFLAGS)
	$(GO) test -count 1 -timeout 1h -v ./test/bench/admission -args -rounds 1 -writes 80 -tracked 1000
