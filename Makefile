# The version that this tree is: config/manager/kustomization.yaml is the one place that says it.
VERSION ?= $(shell sed -n 's/^ *newTag: v//p' config/manager/kustomization.yaml)
IMAGE_TAG_BASE ?= ghcr.io/kube8/kube8-operator
IMG ?= $(IMAGE_TAG_BASE):v$(VERSION)
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
# The catalog's channels that this version is in: docs/how-to/olm.md says when to leave one out.
CHANNELS ?= candidate,fast,stable
PLATFORMS ?= linux/amd64,linux/arm64
# What people run `render` and the kubectl plugin on; a release has an archive of each for each.
export CLI_PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
E2E_LOAD ?= go -C test/cluster run . load

# The tools' versions are pinned in tools/go.mod, those of the control plane in test/cluster/go.mod.
GO_TOOL := go tool -modfile=$(CURDIR)/tools/go.mod
# `go tool` takes no build tags, and without this one the tool needs C libraries.
GO_RUN := go run -modfile=$(CURDIR)/tools/go.mod -tags=containers_image_openpgp
SDK := github.com/operator-framework/operator-sdk
OPERATOR_SDK = $(GO_RUN) -ldflags=-X=$(SDK)/internal/version.Version=$(shell go list -modfile=tools/go.mod -m -f '{{.Version}}' $(SDK)) $(SDK)/cmd/operator-sdk

# One set of flags for builds and tests alike: what one has compiled, the others take from Go's cache.
export CGO_ENABLED ?= 0
export GOFLAGS ?= -trimpath -buildvcs=false

MODULES := . tools tools/release test/cluster test/helm4 examples/portal
ASSETS = assets="$${KUBEBUILDER_ASSETS:-$$(go -C test/cluster run . assets etcd kube-apiserver kubectl)}"; export KUBEBUILDER_ASSETS="$$assets"
GO_BUILD = go build -ldflags '-s -w -X main.version=v$(VERSION) -X main.commit=$(shell git rev-parse --short=12 HEAD)'

comma := ,
# Every target that the help shows is a command, not a file.
.PHONY: FORCE no-collectors $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\#.*/\1/p' $(firstword $(MAKEFILE_LIST)))
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

##@ General

help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## "; print "usage: make TARGET [VARIABLE=value]" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-zA-Z0-9_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
demo: ## Run the operator and its samples on a control plane of this machine; DEMO_RUN=COMMAND ends it after that.
	@go -C test/cluster run ./compile && $(MAKE) --silent build plugin && go -C test/cluster run . demo

##@ Development

generate: manifests ## Regenerate everything generated: CRD, Go code, values schema, API reference.
	rm -rf api/applyconfiguration && $(GO_TOOL) controller-gen object applyconfiguration paths=./api/...
	$(GO_TOOL) crd-ref-docs --log-level=ERROR --max-depth=20 --renderer=markdown --source-path=api/v1alpha1 \
		--config=tools/api-docs/config.yaml --templates-dir=tools/api-docs --output-path=docs/reference/api.md
manifests: ## Regenerate the CRD and, from it, the chart's values.schema.json.
	$(GO_TOOL) controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/... output:crd:dir=config/crd/bases
	go -C tools run ./crdlimits ../config/crd/bases/kube8.dev_collectors.yaml
	go -C tools run ./valuesschema ../config/crd/bases/kube8.dev_collectors.yaml ../helm-charts/collector/values.schema.json
tidy: ## Format the Go files, and tidy every module.
	gofmt -w $(shell git ls-files '*.go')
	@for file in $(shell git ls-files '*go.mod'); do echo "go mod tidy: $$file"; go -C $$(dirname $$file) mod tidy; done
compare-crd: manifests ## Compare the CRD with that of the last release: no field goes, and nothing gets stricter without a word.
	@if tag=$$(git describe --tags --abbrev=0 --match='v*' --exclude='*-*' HEAD^ 2>/dev/null); then git show $$tag:config/crd/bases/kube8.dev_collectors.yaml >config/crd/released/kube8.dev_collectors.yaml; fi
	go -C tools run ./crdcompare ../config/crd/{released,bases}/kube8.dev_collectors.yaml ../config/crd/released/accepted.yaml ../CHANGELOG.md
verify: generate compare-crd catalog chart tidy bundle-validate ## Regenerate, tidy and format all, and fail if that changed a file.
	@if [ -z "$$(git status --porcelain)" ]; then echo "verify: everything generated is up to date"; else git status --short; \
		git --no-pager diff --stat; echo "verify: commit these files as 'make generate compare-crd catalog chart tidy bundle-validate' leaves them"; exit 1; fi

lint: ## Run golangci-lint on every module, actionlint, and shellcheck and promtool where they are installed.
	@failed=; for module in $(MODULES); do echo "golangci-lint: $$module"; \
		(cd $$module && $(GO_TOOL) golangci-lint run ./...) || failed=1; done; [ -z "$$failed" ]
	go -C tools/release tool actionlint
	@if command -v shellcheck; then shellcheck .ci/run $(shell git ls-files '*.sh'); else echo "shellcheck: not installed, so shell files are not checked"; fi
	@if command -v promtool; then go test -count=1 -tags=promtool ./test/rules; else echo "promtool: not installed, so alerts are not checked"; fi
UNITS = for module in $(MODULES); do echo "go test: $$module"; GOGC=400 nice -n 10 go -C $$module test -count=1 -timeout=45m $(GOTESTFLAGS) $$(go -C $$module list ./... | grep -v /test/integration); done
unit: ## Run the tests of all modules that need no operator beside them: units, chart, CRD.
	@$(ASSETS); $(UNITS)
# Two groups run at a time and take as long: tests that wait in real time, kill or measure, and tests that take all processors.
ALONE = ^($(shell grep -L 't.Parallel()' $(filter-out %/walk_test.go %/bases_wave_test.go %/plugin_rollout_test.go,$(wildcard test/integration/*_test.go)) | xargs grep -ho '^func Test[A-Za-z0-9]*.t ' | sed 's/func //; s/.t $$//' | paste -sd'|'))$$
test: ## Run every test that needs no root: units, and the operator on a real API server. Without units: UNIT=. On an earlier version: KUBERNETES=1.34.
	@$(ASSETS); tests() { go test -count=1 -timeout=45m $(GOTESTFLAGS) "$$@" ./test/integration; }; all=() failed=; \
		tests -run='$(ALONE)' & all+=($$!); tests -skip='$(ALONE)' & all+=($$!); \
		if [ -n "$${UNIT-unit}" ]; then ($(UNITS)) & all+=($$!); fi; \
		for one in "$${all[@]}"; do wait "$$one" || failed=1; done; [ -z "$$failed" ] # uncached: the operator's binary changes
docs: ## Print how many words each page has, and build the site of all pages in dist/site.
	go test -count=1 -v -run '^TestTheDocumentationIsShort$$' ./test/docs && go -C tools/site tool hugo --quiet --panicOnWarning --cleanDestinationDir --destination=../../dist/site
simulate: ## Simulate SCHEDULES schedules of edits, other actors and faults, from SEED on, against the release client.
	SCHEDULES=$(or $(SCHEDULES),1000000) go test -count=1 -timeout=24h -run '^TestSimulation$$' -v ./internal/reconcile
weight: ## Print the lines of Go and the boolean operators of each package of the operator, without tests and comments.
	@for dir in $$(go list -f '{{.Dir}}' ./internal/...); do ls $$dir/*.go | grep -v _test.go | xargs sed 's,//.*,,' | \
		awk -v name="$${dir#$(CURDIR)/}" '{ lines++; count += gsub(/&&|\|\|/, "") } END { printf "%6d %5d %s\n", lines, count, name }'; \
		done | awk '{ print; lines += $$1; count += $$2 } END { printf "%6d %5d all\n", lines, count }'
chaos: ## Kill and mislead the operator, on a real API server, and print the figures in docs/explanation/revisions.md.
tenants: ## Attack the operator as a tenant, on a real API server, and print the figures in docs/explanation/security.md.
walk: ## Walk all values of each field of the CRD, or of those below WALK, with the operator on a real API server.
chaos tenants walk:
	@$(ASSETS); WALK_EVERY=1 go test -count=1 $(if $(filter walk,$@),-timeout=60m) -v -run '^Test(?i:$@)' $(GOTESTFLAGS) ./test/integration

bench: bin/linux-$(shell go env GOARCH)/kube8-operator ## Measure CPU, memory, requests and time beside the stock helm-operator; flags in ARGS.
	@go build -o bin/bench ./test/bench && KUBEBUILDER_ASSETS="$$(go -C test/cluster run . assets etcd kwok helm-operator kube-{apiserver,controller-manager,scheduler})" bin/bench $(ARGS)

cluster-up: ## Bring up a cluster of one real node, on a Debian machine, as root; it runs until cluster-down.
cluster-down: ## Stop the cluster and remove all that it made.
cluster-up cluster-down:
	go -C test/cluster run . $(@:cluster-%=%)
# Runs tests on the cluster of KUBECONFIG, or that of cluster-up.
define e2e
@[ -z "$(E2E_LOAD)" ] || for archive in $(CURDIR)/bin/images/*.tar; do $(E2E_LOAD) "$$archive"; done
@kubectl="$$(command -v $(KUBECTL))" || kubectl="$$(go -C test/cluster run . assets kubectl)/kubectl"; \
	export KUBECONFIG="$${KUBECONFIG:-$${KUBE8_CLUSTER_DIR:-/var/lib/kube8-operator-cluster}/kubeconfig}" KUBECTL="$$kubectl"; \
	IMG=$(IMG) CONTAINER_TOOL=$(CONTAINER_TOOL) E2E_LOAD="$(E2E_LOAD)" go test -tags=e2e -count=1 -timeout=35m -v $(GOTESTFLAGS) $(1)
endef

e2e: $(if $(E2E_LOAD),image-archives) ## Run the end-to-end tests on KUBECONFIG's cluster, or that of cluster-up.
	$(call e2e,./test/e2e)
soak: $(if $(E2E_LOAD),image-archives) ## Disturb a flow of data there for SOAK, an hour, and fail if its condition changes.
	$(call e2e,-timeout=3h -run='^TestDisturbances' ./test/e2e -soak=$(or $(SOAK),1h))
scorecard: $(if $(E2E_LOAD),image-archives) ## Run all scorecard tests there.
	$(call e2e,-run='^TestScorecard' ./test/olm)
e2e-olm: $(if $(E2E_LOAD),image-archives) ## Have OLM install, upgrade and remove the operator there.
	$(call e2e,-run='^TestOLM' ./test/olm)

##@ Build

build: bin/kube8-operator ## Build bin/kube8-operator.
plugin: bin/kubectl-collector ## Build bin/kubectl-collector: with bin in $PATH, it is `kubectl collector`.
run: build ## Run the operator on this machine, against the cluster of the current kubeconfig; flags in ARGS.
	bin/kube8-operator run $(ARGS)
bin/kube8-operator bin/kubectl-collector: FORCE
	$(GO_BUILD) -o $@ ./cmd/$(@F)
bin/linux-%/kube8-operator: FORCE
	GOOS=linux GOARCH=$(*:-fips=) $(if $(filter %-fips,$*),GOFIPS140=v1.0.0) $(GO_BUILD) -tags runonly -o $@ ./cmd/kube8-operator
bin/cli-%: FORCE
	for name in kube8-operator kubectl-collector; do GOOS=$(subst -, GOARCH=,$*) $(GO_BUILD) -o $@/$$name ./cmd/$$name; done
docker-build: bin/linux-$(shell go env GOARCH)/kube8-operator ## Build the image IMG for this machine's architecture.
	$(CONTAINER_TOOL) build --build-arg TARGETARCH=$(shell go env GOARCH) --build-arg VERSION=$(VERSION) -t $(IMG) .
docker-push: ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)
BINARIES := $(patsubst linux/%,bin/linux-%/kube8-operator,$(subst $(comma), ,$(PLATFORMS)))
docker-buildx: $(BINARIES) ## Build IMG for PLATFORMS and push it.
	$(CONTAINER_TOOL) buildx build --push --platform=$(PLATFORMS) --build-arg VERSION=$(VERSION) -t $(IMG) .
image-archives: docker-build ## Write IMG, and the collectors that the samples run, to bin/images/*.tar.
	IMG=$(IMG) CONTAINER_TOOL=$(CONTAINER_TOOL) test/e2e/collector/archives.sh

##@ Deployment, on the cluster of the current kubeconfig

MANIFESTS := bin/overlay/manifests.yaml
define render
@mkdir -p bin/overlay && echo 'resources: [../../$(1)]' >bin/overlay/kustomization.yaml
@cd bin/overlay && $(GO_TOOL) kustomize edit set image ghcr.io/kube8/kube8-operator=$(IMG)
$(GO_TOOL) kustomize build bin/overlay --output=$(MANIFESTS)
endef
install: ## Install the CRD.
	$(GO_TOOL) kustomize build config/crd | $(KUBECTL) apply --server-side -f -
uninstall: no-collectors ## Remove the CRD; refuses while Collectors exist.
	$(GO_TOOL) kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -
deploy: ## Install the CRD and the operator, with the image IMG.
	$(call render,config/default)
	$(KUBECTL) apply --server-side -f $(MANIFESTS)
undeploy: no-collectors ## Remove the operator and the CRD; refuses while Collectors exist.
	$(GO_TOOL) kustomize build config/default | $(KUBECTL) delete --ignore-not-found -f -
OLM_NAMESPACE ?= kube8-operator-system
undeploy-olm: no-collectors ## Remove what OLM installed in OLM_NAMESPACE; refuses as well, unless KEEP_COLLECTORS=1.
	$(KUBECTL) delete -n $(OLM_NAMESPACE) -l operators.coreos.com/kube8-operator.$(OLM_NAMESPACE) subscriptions.operators.coreos.com,clusterserviceversions.operators.coreos.com

# Each Collector has a finalizer that only a running operator takes away: deleting the CRD first would wait for ever. OLM keeps the CRD.
no-collectors:
	@crd="$$($(KUBECTL) get crd collectors.kube8.dev --ignore-not-found -o name)"; [ -n "$$crd" ] || exit 0; \
	left="$$($(KUBECTL) get collectors.kube8.dev -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name} {end}')"; \
	[ -n "$$left" ] || exit 0; echo "Collectors that still exist: $${left% }. Only a running operator can remove what it made of" \
		"them, so delete them first: kubectl delete collectors.kube8.dev --all --all-namespaces" >&2; \
	[ -n "$(if $(filter-out undeploy-olm,$(MAKECMDGOALS)),,$(KEEP_COLLECTORS))" ]

##@ Release

release release-check: export GOTOOLCHAIN = $(shell sed -n 's/^toolchain //p' go.mod)
CLIS := $(patsubst %,bin/cli-%,$(subst /,-,$(subst $(comma), ,$(CLI_PLATFORMS))))
release: $(BINARIES) $(BINARIES:/kube8-operator=-fips/kube8-operator) $(CLIS) ## Write all that the release of VERSION holds to dist/: the same commit gives the same bytes.
	go -C tools/release run . --version=$(VERSION) --platforms=$(PLATFORMS) --cli-platforms=$(CLI_PLATFORMS) ../.. ../../dist
release-check: ## Make the release of HEAD twice, in two clones, compare the bytes, and try what it holds.
	go -C tools/release test -tags=e2e -count=1 -timeout=85m -v $(GOTESTFLAGS) ./...
bundle: manifests ## Generate the OLM bundle.
	$(call render,config/manifests)
	rm -rf bundle && cat $(MANIFESTS) | $(OPERATOR_SDK) generate bundle -q --version=$(VERSION) --channels=$(CHANNELS) \
		--default-channel=$(lastword $(subst $(comma), ,$(CHANNELS)))
	go -C tools run ./bundle --image=$(IMG) ../config ../bundle
CHART := helm-charts/kube8-operator
chart: manifests ## Generate what the chart of the operator has of config/.
	$(GO_TOOL) kustomize build config/default --output=$(CHART)/files/operator.yaml
	for each in cluster cluster-audit namespaces changed-by; do $(GO_TOOL) kustomize build config/tenancy/$$each --output=$(CHART)/files/tenancy-$$each.yaml; done
	cp config/prometheus/{monitor,scraper,rules}.yaml config/grafana/{dashboard,collectors}.json $(CHART)/files
	sed -i 's/^version: .*/version: $(VERSION)/; s/^appVersion: .*/appVersion: v$(VERSION)/' $(CHART)/Chart.yaml
	go -C tools run ./chartvalues ../$(CHART)
catalog: bundle ## Generate the catalog's entry for the bundle, whose image is BUNDLE_IMG.
	$(GO_RUN) github.com/operator-framework/operator-registry/cmd/opm render ./bundle -o yaml --alpha-image-ref-template=$(BUNDLE_IMG) \
		--migrate-level=bundle-object-to-csv-metadata | go -C tools run ./catalog --channels=$(CHANNELS) --icon=../config/manifests/icon.svg ../catalog
bundle-validate: ## Validate bundle and catalog, with every validator that needs no registry.
	go test -tags=e2e -count=1 -run=Validate $(GOTESTFLAGS) ./test/olm
bundle-build: ## Build the images BUNDLE_IMG and CATALOG_IMG.
	$(CONTAINER_TOOL) build -f bundle.Dockerfile -t $(BUNDLE_IMG) .
	$(CONTAINER_TOOL) build -f catalog.Dockerfile -t $(CATALOG_IMG) .
clean: ## Remove what was built here; the caches of Go and of the control plane's binaries stay.
	rm -rf bin dist
