GO ?= go
BIN := bin
# BIN as an absolute path for go build -C, which resolves relative paths in the folder of -C.
# (abspath would split a path that contains a space.)
TOOLS = '$(if $(filter /%,$(BIN)),$(BIN),$(CURDIR)/$(BIN))'
# exec replaces the shell, so that a signal that ends make also reaches the program; go run would
# not forward it.
CONTROLPLANE = $(GO) build -o $(BIN)/controlplane ./test/cluster/cmd/controlplane && exec $(BIN)/controlplane
# Duration of each fuzz target in `make fuzz`.
FUZZTIME ?= 30s
# GOGC of the programs in test clusters. With 300, each API server uses half a gigabyte more memory,
# but a sixth less CPU time, which is what slows the tests down.
CLUSTER_GOGC ?= 300
DIST ?= dist
# The registry of both images, and the source address in their labels.
REGISTRY ?= ghcr.io/k8sconnect
SOURCE ?= https://github.com/k8sconnect/kubectl-k8sconnect
IMAGE_PLATFORMS ?= linux/amd64 linux/arm64
# STAMP: version, commit and date. SEMVER: the version for images and charts, without the v, and with
# - instead of +, which an image tag cannot contain.
STAMP = $(shell VERSION='$(VERSION)' test/release/stamp.sh)
SEMVER = $(subst +,-,$(patsubst v%,%,$(word 1,$(STAMP))))
CHART := charts/k8sconnect
# A release's platforms, and a version to use instead of the one from git.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
export VERSION ?=
# Nothing here needs cgo. Without it, no C compiler is needed, and tests, linter and generators share
# compiled packages.
export CGO_ENABLED ?= 0
# In a GitHub Actions job, the plugin also prints errors as annotations, which tests do not expect.
unexport GITHUB_ACTIONS
# This one command builds every published program: static, stamped with version, commit and date, and
# byte-identical on any machine with the same Go version.
GOBUILD = stamp=$$(test/release/stamp.sh -X) || exit 1; \
  CGO_ENABLED=0 GOFLAGS=-trimpath GOAMD64=v1 GOARM64=v8.0 GOWORK=off \
  $(GO) build -buildvcs=false -ldflags "-s -w $$stamp"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the plugin and the webhook in bin/
	$(GOBUILD) -o $(BIN)/kubectl-k8sconnect ./cmd/kubectl-k8sconnect
	$(GOBUILD) -o $(BIN)/webhook ./cmd/webhook

.PHONY: binaries
binaries: ## build the plugin for PLATFORMS, and the webhook for the Linux ones, in dist/binaries/OS_ARCH/
	@set -e; for platform in $(PLATFORMS); do \
	  export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
	  to='$(DIST)'/binaries/$${GOOS}_$$GOARCH; echo "$$to"; \
	  $(GOBUILD) -o "$$to/" ./cmd/kubectl-k8sconnect; \
	  if [ $$GOOS = linux ]; then $(GOBUILD) -o "$$to/" ./cmd/webhook; fi; \
	done

RELEASE = $(GO) run ./test/release -dist '$(DIST)' -platforms '$(PLATFORMS)'

# Targets that a release builds besides the archives.
RELEASE_TOO ?= images chart-package

.PHONY: release
release: ## build and inspect all files of a release in dist/ (options: VERSION=vX.Y.Z, DIST=folder)
	@# Files in a folder that git does not ignore would make the tree dirty for the later steps. Only
	@# dist is emptied: another folder may contain a user's files.
	@git check-ignore -q -- '$(DIST)/x' 2>/dev/null; if [ $$? = 1 ]; then \
	  echo 'release: $(DIST) is in the source tree and not ignored by git; set DIST to a folder outside the tree, or use dist' >&2; exit 1; fi
	@if [ '$(DIST)' = dist ]; then rm -rf dist; elif [ -n "$$(ls -A '$(DIST)' 2>/dev/null)" ]; then \
	  echo 'release: $(DIST) is not empty, and all its files would be published; empty it, or set DIST to another folder' >&2; exit 1; fi
	@$(MAKE) --no-print-directory binaries
	$(RELEASE) archives
	@$(if $(RELEASE_TOO),$(MAKE) --no-print-directory $(RELEASE_TOO))
	$(RELEASE) checksums
	RELEASE_DIST='$(DIST)' RELEASE_PLATFORMS='$(PLATFORMS)' $(GO) test -count 1 -run '^TestPublished$$' ./test/release

.PHONY: release-tagged
release-tagged: release ## release, then fail unless krew-manifest.yaml, CHANGELOG.md and the chart match the tag
	$(RELEASE) tagged

.PHONY: release-prepare
release-prepare: ## write VERSION=vX.Y.Z and today's date into CHANGELOG.md and the chart
	sh test/release/prepare.sh '$(VERSION)'

.PHONY: krew-ready
krew-ready:
	@$(RELEASE) ready

.PHONY: krew-manifest
krew-manifest: krew-ready release ## write krew-manifest.yaml for VERSION=vX.Y.Z before tagging
	cp '$(DIST)'/krew-manifest.yaml krew-manifest.yaml

.PHONY: krew-test
krew-test: $(BIN)/krew ## build this machine's archive, install it with krew, and run it through kubectl
	@dist=$$(mktemp -d) && trap 'rm -rf "$$dist"' EXIT && \
	  $(MAKE) --no-print-directory release DIST="$$dist" PLATFORMS="$$($(GO) env GOOS)/$$($(GO) env GOARCH)" RELEASE_TOO= && \
	  sh test/release/krew.sh $(TOOLS)/krew "$$dist"

.PHONY: images
images: ## build both images for IMAGE_PLATFORMS in dist/: OCI layouts, archives for docker load
	@$(MAKE) --no-print-directory binaries PLATFORMS='$(IMAGE_PLATFORMS)'
	@$(GO) build -C test/tools/images -o $(TOOLS)/images .
	@$(GO) run ./test/release -dist '$(DIST)' -platforms '$(IMAGE_PLATFORMS)' notices
	@rm -f '$(DIST)'/*.oci.tar '$(DIST)'/*.docker.tar
	@$(BIN)/images -dist '$(DIST)' -registry $(REGISTRY) -source $(SOURCE) -platforms '$(IMAGE_PLATFORMS)' \
	  -version $(SEMVER) -revision '$(word 2,$(STAMP))' -created '$(word 3,$(STAMP))'

.PHONY: push-images
push-images: $(BIN)/crane ## push the images to the REGISTRY that they were built for; print digests
	@test/tools/images/push.sh '$(DIST)' $(BIN)/crane

.PHONY: chart-package
chart-package: $(BIN)/helm ## package the webhook's chart in dist/, with this version and its image
	@rm -rf '$(DIST)'/chart '$(DIST)'/k8sconnect-*.tgz && mkdir -p '$(DIST)'/chart && cp -R $(CHART) '$(DIST)'/chart/
	@sed 's|repository: ghcr.io/k8sconnect/webhook|repository: $(REGISTRY)/webhook|' $(CHART)/values.yaml >'$(DIST)'/chart/$(notdir $(CHART))/values.yaml
	@# The package contains the files' times, so all get the commit's: this makes it reproducible.
	@find '$(DIST)'/chart -exec touch -d '$(or $(word 3,$(STAMP)),1980-01-01T00:00:00Z)' {} +
	@$(BIN)/helm package '$(DIST)'/chart/$(notdir $(CHART)) --version $(SEMVER) --app-version $(SEMVER) --destination '$(DIST)'
	@rm -rf '$(DIST)'/chart

.PHONY: install
install: ## install the plugin in Go's bin folder; kubectl finds it if the folder is on the PATH
	$(subst go build,go install,$(GOBUILD)) ./cmd/kubectl-k8sconnect

.PHONY: demo
demo: ## show a conflict and two resolutions on a real control plane; builds what is missing
	@bash test/demo/demo.sh

# Tests with a control plane also wait, so at least four packages run at once even on two cores, and
# the longest start first. The linter runs vet. Without debug information, linking takes half the
# time; without cgo, half of the rest. Test programs are short-lived, and with Go's default GOGC would
# spend a fifth of their time collecting garbage.
GOTEST = GOGC=400 CLUSTER_GOGC=$(CLUSTER_GOGC) $(GO) test -vet=off -ldflags=-w -p $(ATONCE) -parallel 4
ATONCE = $(shell n=$$(getconf _NPROCESSORS_ONLN); [ "$$n" -gt 4 ] 2>/dev/null || n=4; echo "$$n")
LONGEST_FIRST = ./test/e2e ./test/e2e/scripts ./test/e2e/sets ./test/e2e/... ./test/... ./...
TESTED = build cluster-build $(BIN)/helm $(BIN)/jq

.PHONY: test
test: $(TESTED) ## run the tests that each change must pass, on a control plane
	$(GOTEST) -timeout 30m $(LONGEST_FIRST)

.PHONY: test-full
test-full: $(TESTED) $(BIN)/k9s $(BIN)/kustomize-controller $(BIN)/argocd-sync ## run all tests: every row and page, releases, judges, k9s, Flux, benchmark results; nightly in CI
	TEST_FULL=1 $(GOTEST) -timeout 90m $(LONGEST_FIRST)
	@$(MAKE) --no-print-directory bench-short
	@$(MAKE) --no-print-directory bench-peers PEERSFLAGS='--short --set none'

.PHONY: test-times
test-times: $(TESTED) ## print the CPU seconds per test, and what it covers (TEST_FULL=1 for all rows)
	@$(GO) build -o $(BIN)/times ./test/times
	@echo '| CPU s | package | test | circle | what it covers |'; echo '| --: | --- | --- | --- | --- |'
	@$(GOTEST) -timeout 3h -count 1 -p 1 -parallel 1 -v -exec $(TOOLS)/times ./test/cluster ./test/demo ./test/docs ./test/e2e/... ./test/images ./test/property ./test/release | grep '^| ' | sort -t '|' -k 2 -rn

.PHONY: docs
docs: build cluster-build $(BIN)/helm $(BIN)/jq ## run the commands in README and docs/*.md, and update stale outputs and pictures (PAGE=wait,diff for some)
	PAGE='$(PAGE)' $(GO) test -count 1 -timeout 20m -run TestPages ./test/docs -update -v

.PHONY: test-unit
test-unit: ## run tests without a control plane
	GOGC=400 $(GO) test -short ./...

.PHONY: test-minor
test-minor: minor-named build $(BIN)/helm ## run cluster and e2e tests on another Kubernetes (K8S_MINOR=1.35; see test/cluster/tools)
	@$(MAKE) --no-print-directory cluster-build
	TEST_FULL=1 $(GO) test -count 1 -timeout 60m ./test/cluster/... ./test/e2e/...

.PHONY: minor-named
minor-named:
	@[ -n '$(K8S_MINOR)' ] || { echo 'test-minor: set K8S_MINOR to one of: $(notdir $(wildcard test/cluster/tools/1.*))' >&2; exit 1; }

# Number of random histories for each property test in `make test-long`.
CASES ?= 20000

.PHONY: test-long
test-long: build cluster-build $(BIN)/helm ## run property tests with CASES histories (SEED=… for others), all real sets, judges at full size; hours
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
lint: $(BIN)/golangci-lint $(BIN)/actionlint ## check code, format, go.mod files, workflows
	$(BIN)/golangci-lint run ./...
	$(BIN)/golangci-lint fmt --diff ./...
	$(GO) mod tidy -diff
	cd test/library && $(GO) mod tidy -diff
	cd test/bench/peers && $(GO) mod tidy -diff
	$(BIN)/actionlint -shellcheck= -pyflakes=

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities that the programs can reach; reads vuln.go.dev
	$(GO) tool -modfile=test/tools/govulncheck/go.mod govulncheck ./cmd/...

.PHONY: generate
generate: ## write the tables of deprecated APIs from pinned Kubernetes releases
	$(GO) run ./test/lifecycles
	$(GO) test ./pkg/deprecation -run TestChart -update

.PHONY: generate-check
generate-check: ## fail if they are stale
	$(GO) run ./test/lifecycles -check
	$(GO) test ./pkg/deprecation -run TestChart

.PHONY: tidy
tidy: ## tidy go.mod here, in test/library and in test/bench/peers
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

# gojq: jq in Go, for the pages and examples that use jq.
$(BIN)/jq: test/tools/jq/go.mod test/tools/jq/go.sum
	$(GO) build -C test/tools/jq -trimpath -ldflags '-s -w' -o $(TOOLS)/jq github.com/itchyny/gojq/cmd/gojq

$(BIN)/helm: test/tools/helm/go.mod test/tools/helm/go.sum
	$(GO) build -C test/tools/helm -trimpath -ldflags '-s -w' -o $(TOOLS)/helm helm.sh/helm/v4/cmd/helm

$(BIN)/k9s: test/tools/k9s/go.mod test/tools/k9s/go.sum
	$(GO) build -C test/tools/k9s -trimpath -ldflags '-s -w' -o $(TOOLS)/k9s github.com/derailed/k9s

$(BIN)/kustomize-controller: test/tools/kustomize-controller/go.mod test/tools/kustomize-controller/go.sum
	$(GO) build -C test/tools/kustomize-controller -trimpath -ldflags '-s -w' -o $(TOOLS)/kustomize-controller github.com/fluxcd/kustomize-controller

# A program with Argo CD's engine. Compiling it for the first time takes minutes.
$(BIN)/argocd-sync: test/tools/argocd-sync/main.go test/tools/argocd-sync/go.mod test/tools/argocd-sync/go.sum
	$(GO) build -C test/tools/argocd-sync -trimpath -ldflags '-s -w' -o $(TOOLS)/argocd-sync .

$(BIN)/krew: test/tools/krew/go.mod test/tools/krew/go.sum
	$(GO) build -C test/tools/krew -trimpath -ldflags '-s -w' -o $(TOOLS)/krew sigs.k8s.io/krew/cmd/krew

$(BIN)/crane: test/tools/images/go.mod test/tools/images/go.sum
	$(GO) build -C test/tools/images -trimpath -ldflags '-s -w' -o $(TOOLS)/crane github.com/google/go-containerregistry/cmd/crane

.PHONY: chart-lint
chart-lint: $(BIN)/helm ## test the webhook's chart: lint, rendering with several values, schema
	@set -e; for values in $(CHART)/values.yaml $(CHART)/ci/*.yaml; do \
	  echo "$$values"; $(BIN)/helm lint --quiet --strict $(CHART) -f $$values; done
	$(GOTEST) ./test/chart/

.PHONY: cluster-build
cluster-build: ## build etcd, kube-apiserver, controllers, scheduler, kwok, kubectl (once; takes minutes)
	@$(CONTROLPLANE) build

.PHONY: cluster-up
cluster-up: ## start a control plane on loopback; print export KUBECONFIG=…
	@$(CONTROLPLANE) up

.PHONY: cluster-down
cluster-down: ## stop it
	@$(CONTROLPLANE) down

.PHONY: webhook-up
webhook-up: build $(BIN)/helm cluster-build ## run a control plane with the webhook from its chart until Ctrl-C; print export KUBECONFIG=…
	@$(GO) build -o $(BIN)/companion ./test/companion/cmd/companion && exec $(BIN)/companion

.PHONY: cluster-status
cluster-status: ## print its state
	@$(CONTROLPLANE) status

.PHONY: bench
bench: build cluster-build ## compare with kubectl and the raw limit, as Markdown; two hours (BENCHFLAGS=--help)
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench --bin $(BIN) $(BENCHFLAGS)
	@$(if $(BENCHFLAGS),,$(MAKE) bench-webhook)

.PHONY: bench-peers
bench-peers: build $(BIN)/helm $(BIN)/peers cluster-build ## compare with kubectl, Flux and Helm, as Markdown; an hour (PEERSFLAGS=--short: results only, a minute)
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench --bin $(BIN) --peers $(PEERSFLAGS)

# A program with Flux's library. Compiling it for the first time takes minutes.
$(BIN)/peers: test/bench/peers/main.go test/bench/peers/go.mod test/bench/peers/go.sum
	$(GO) build -C test/bench/peers -o $(TOOLS)/peers .

.PHONY: bench-webhook
bench-webhook: build $(BIN)/helm cluster-build ## measure the webhook's delay of writes and the tracker's memory, as Markdown; 15 minutes
	$(GO) test -count 1 -timeout 3h -v ./test/bench/admission -args -rounds 3 $(BENCHFLAGS)

.PHONY: bench-short
bench-short: build $(BIN)/helm cluster-build ## bench and bench-webhook, small; fails only on wrong results
	$(GO) build -o $(BIN)/bench ./test/bench
	$(BIN)/bench --bin $(BIN) --short $(BENCHFLAGS)
	$(GO) test -count 1 -timeout 1h -v ./test/bench/admission -args -rounds 1 -writes 80 -tracked 1000
