#!/bin/sh
# Installs the archive for this machine from make release with krew, runs the plugin through kubectl,
# and sets up completion with the command in the manifest's caveats.
#
#   sh test/release/krew.sh KREW FOLDER
set -eu
krew=$1
dist=$2
cd "$(dirname "$0")/../.."

version=$(test/release/stamp.sh | head -n 1)
archive=$dist/kubectl-k8sconnect_${version}_$(go env GOOS)_$(go env GOARCH).tar.gz
if [ ! -f "$archive" ]; then
  echo "krew-test: $archive does not exist; make release builds it" >&2
  exit 1
fi

KREW_ROOT=$(mktemp -d)
export KREW_ROOT KREW_NO_UPGRADE_CHECK=1
trap 'rm -rf "$KREW_ROOT"' EXIT
PATH=$KREW_ROOT/bin:$PATH
command -v kubectl >/dev/null || PATH=$PATH:$(go run ./test/cluster/cmd/controlplane bin)

"$krew" install --manifest="$dist"/krew-manifest.yaml --archive="$archive"
told=$(KUBECONFIG=/dev/null kubectl k8sconnect version --client)
echo "$told"
case $told in
  "client: $version "*) ;;
  *) echo "krew-test: the plugin does not report version $version" >&2; exit 1 ;;
esac

sh -c "$(grep 'ln -sf' "$dist"/krew-manifest.yaml)"
completed=$(KUBECONFIG=/dev/null kubectl __complete k8sconnect app 2>/dev/null | head -n 1)
case $completed in
  apply*) echo "kubectl completes: $completed" ;;
  *) echo "krew-test: kubectl completes \"k8sconnect app\" to \"$completed\"" >&2; exit 1 ;;
esac
