#!/usr/bin/env bash
# The tour of `make demo`: a real control plane, a real conflict, its ways out.
# DEMO_PAUSE=1 waits for Enter between the steps.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(mktemp -d)
# Built once: the tour has a home of its own, in which Go would download every module
# again before it can tear anything down.
go build -o "$dir/controlplane" ./test/cluster/cmd/controlplane
controlplane() { "$dir/controlplane" "$@" --dir "$dir/cluster"; }
# Whatever happens, nothing is left running; if something is, it is said where.
teardown() {
  trap '' INT TERM
  if controlplane down >"$dir/down.log" 2>&1; then rm -rf "$dir"; return; fi
  cat "$dir/down.log" >&2
  echo "the control plane may still run: $dir/controlplane down --dir $dir/cluster" >&2
}
trap teardown EXIT

bold=''; plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m'; plain=$'\e[0m'; fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; if [ -n "${DEMO_PAUSE:-}" ]; then read -r _; fi; }
# show prints a command so that it can be pasted.
show() {
  local arg line=''
  for arg in "$@"; do
    case $arg in *[!A-Za-z0-9_./:=,@-]*) arg="'$arg'" ;; esac
    line+=" $arg"
  done
  printf '%s$%s%s\n' "$bold" "$line" "$plain"
}
run() { show "$@"; "$@"; }
# Answers "no" with exit status 1: that is the point, not a failure.
no() { show "$@"; if "$@"; then echo "expected exit status 1" >&2; exit 1; elif [ $? -ne 1 ]; then exit 1; fi; }

say 'A real control plane: etcd, kube-apiserver, controllers, scheduler, kwok'
eval "$(controlplane up)"
bin=$("$dir/controlplane" bin)
export PATH="$PWD/bin:$bin:$PATH" HOME="$dir"

say 'Apply a set: namespace, definition, objects, in the order in which they need each other'
run kubectl k8sconnect apply -f test/e2e/testdata/shop
say 'Once more: nothing would change, so nothing is written'
run kubectl k8sconnect apply -f test/e2e/testdata/shop

say 'A colleague scales by hand, and somebody changes the image'
run kubectl -n shop scale deployment/web --replicas=5
run kubectl -n shop set image deployment/web app=registry.example/web:1.1-hotfix

say 'What would apply change? Only what we own, and whose it is now'
no kubectl k8sconnect diff -f test/e2e/testdata/shop
say 'Apply does not overwrite it: it says whose each field is, and writes nothing'
no kubectl k8sconnect apply -f test/e2e/testdata/shop

say 'Leave the replicas to the colleague, take the image back'
run kubectl k8sconnect apply -f test/e2e/testdata/shop \
  --yield 'deployment.apps/web:.spec.replicas' \
  --take 'deployment.apps/web:.spec.template.spec.containers[name="app"].image'
run kubectl -n shop get deployment web -o custom-columns='REPLICAS:.spec.replicas,IMAGE:.spec.template.spec.containers[0].image'
controlplane down
say 'Done; everything is torn down'
