#!/usr/bin/env bash
# The tour of `make demo`: a real control plane, a real conflict, its ways out.
# DEMO_PAUSE=1 waits for Enter between the steps.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Each command is a process group of its own, which can be ended as a whole: an
# interrupted `go build` would otherwise leave its compilers.
set -m
dir=$(mktemp -d)
mkdir "$dir/go"
export GOTMPDIR=$dir/go
# Its own programs stay, so that the next tour builds only what has changed.
bin=$PWD/bin/demo
# Also if this script is killed: the control plane ends with it.
controlplane() { "$bin/controlplane" "$@" --nodes 0 --dir "$dir/cluster" --while $$; }
# Whatever happens, nothing is left running; if something is, it is said where.
teardown() {
  status=$?
  trap '' INT TERM HUP
  set +em
  end_jobs
  if [ ! -e "$dir/cluster" ] || controlplane down >"$dir/down.log" 2>&1; then
    rm -rf "$dir"
    if [ $status -gt 128 ]; then echo 'interrupted; everything is torn down' >&2; fi
    return
  fi
  cat "$dir/down.log" >&2
  echo "the control plane may still run: $bin/controlplane down --dir $dir/cluster" >&2
}
# An interrupt first, on which each of them cleans up.
end_jobs() {
  local group signal
  for signal in INT KILL; do
    for group in $(jobs -p); do kill -s $signal -- "-$group" 2>/dev/null; done
    for _ in {1..100}; do
      if [ -z "$(jobs -rp)" ]; then return 0; fi
      sleep 0.1
    done
  done
}
trap teardown EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
# In the background, since Bash heeds a signal only when its foreground command has ended.
guarded() { "$@" </dev/null & wait $!; }

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
run() { show "$@"; guarded "$@"; }
# Answers "no" with exit status 1: that is the point, not a failure.
no() { show "$@"; if guarded "$@"; then echo "expected exit status 1" >&2; exit 1; elif [ $? -ne 1 ]; then exit 1; fi; }
# build builds one of our own programs, and says how long that took.
build() {
  local start=$SECONDS
  echo "building $(basename "$1")" >&2
  CGO_ENABLED=0 guarded go build -trimpath -ldflags '-s -w' -o "$bin/" "$1"
  echo "built $(basename "$1") in $((SECONDS - start))s" >&2
}

say 'What it needs: the plugin; etcd, kube-apiserver and kubectl, unless they are there'
# Built before the tour has a home of its own, in which Go would download every module
# again, even to tear everything down.
build ./test/cluster/cmd/controlplane
build ./cmd/kubectl-k8sconnect
guarded controlplane bin >"$dir/programs"

say 'A real control plane: etcd and kube-apiserver, on this machine alone'
guarded controlplane up >"$dir/env"
eval "$(cat "$dir/env")"
PATH="$bin:$(cat "$dir/programs"):$PATH" HOME="$dir"
export PATH HOME

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
guarded controlplane down
say 'Done; everything is torn down'
