CONTROLPLANE = go run ./test/cluster/cmd/controlplane

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: cluster-build
cluster-build: ## build etcd, kube-apiserver, controllers, scheduler, kwok and kubectl (once, several minutes)
	@$(CONTROLPLANE) build

.PHONY: cluster-up
cluster-up: ## start a real control plane on loopback; prints export KUBECONFIG=…
	@$(CONTROLPLANE) up

.PHONY: cluster-down
cluster-down: ## stop it
	@$(CONTROLPLANE) down

.PHONY: cluster-status
cluster-status: ## say whether it runs
	@$(CONTROLPLANE) status
