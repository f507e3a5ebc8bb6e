#!/bin/sh
# Writes the module for a Kubernetes release, such as 1.35.4, to the folder of its minor. The module
# has the requirements of k8s.io/kubernetes, but with the published versions of the staging modules.
# With K8S_MINOR=1.35, the tests then build and run this release.
set -eu
version=${1:?usage: minor.sh 1.35.4}
minor=${version%.*}
cd "$(dirname "$0")"
mkdir -p "$minor"
cd "$minor"
rm -f go.mod go.sum
export GOWORK=off
upstream=$(GOFLAGS=-mod=mod go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
staging=v0.${version#1.}
cat >go.mod <<END
// Kubernetes $minor as another control plane for the tests: K8S_MINOR=$minor. Written by
// ../minor.sh $version. etcd and kwok are those of the module above.
module github.com/k8sconnect/kubectl-k8sconnect/test/cluster/tools/$minor

$(sed -n '/^go 1/p' "$upstream")

tool (
	k8s.io/kubernetes/cmd/kube-apiserver
	k8s.io/kubernetes/cmd/kube-controller-manager
	k8s.io/kubernetes/cmd/kube-scheduler
	k8s.io/kubernetes/cmd/kubectl
)

require k8s.io/kubernetes v$version

$(sed -n '/^require (/,/^)/p; /^replace (/,/^)/p' "$upstream" |
  sed "s|\(k8s.io/[a-z-]*\) v0\.0\.0\$|\1 $staging|; s|\(k8s.io/[a-z-]*\) v0\.0\.0 |\1 $staging |; s|\(k8s.io/[a-z-]*\) => ./staging/.*|\1 => \1 $staging|")
END
go mod tidy
