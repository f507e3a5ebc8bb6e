#!/usr/bin/env bash
# The tour of `make demo`: a conflict on a real control plane, and two ways to resolve it. With
# DEMO_PAUSE=1, it waits for Enter before each step.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Each command gets its own process group, so that all its processes can be ended: otherwise an
# interrupted `go build` would leave compilers running.
set -m
dir=$(mktemp -d)
mkdir "$dir/go"
export GOTMPDIR=$dir/go
# The programs are kept, so that the next tour rebuilds only changed ones.
bin=$PWD/bin/demo
# With --while, the control plane ends with this script, even if the script is killed.
controlplane() { "$bin/controlplane" "$@" --nodes 0 --dir "$dir/cluster" --while $$; }
# Ends all processes and removes the folder. If the control plane cannot be stopped, the folder is
# kept, and a message shows the command to stop it.
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
  echo "the control plane may still be running; stop it with: $bin/controlplane down --dir $dir/cluster" >&2
}
# Sends an interrupt first, so that the commands can clean up.
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
# Runs in the background, because Bash handles a signal only after its foreground command has ended.
guarded() { "$@" </dev/null & wait $!; }

bold=''; plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m'; plain=$'\e[0m'; fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; if [ -n "${DEMO_PAUSE:-}" ]; then read -r _; fi; }
# show prints a command, quoted for pasting.
show() {
  local arg line=''
  for arg in "$@"; do
    case $arg in *[!A-Za-z0-9_./:=,@-]*) arg="'$arg'" ;; esac
    line+=" $arg"
  done
  printf '%s$%s%s\n' "$bold" "$line" "$plain"
}
run() { show "$@"; guarded "$@"; }
# no runs a command that has to end with exit status 1, the answer "no".
no() { show "$@"; if guarded "$@"; then echo "expected exit status 1" >&2; exit 1; elif [ $? -ne 1 ]; then exit 1; fi; }
# build builds a program of this repository, and prints how long it took.
build() {
  local start=$SECONDS
  echo "building $(basename "$1")" >&2
  CGO_ENABLED=0 guarded go build -trimpath -ldflags '-s -w' -o "$bin/" "$1"
  echo "built $(basename "$1") in $((SECONDS - start))s" >&2
}

say 'Build the plugin, and etcd, kube-apiserver and kubectl if they are missing'
# Before the tour changes HOME: in the new one, Go would download every module again, even for the
# teardown.
build ./test/cluster/cmd/controlplane
build ./cmd/kubectl-k8sconnect
guarded controlplane bin >"$dir/programs"

say 'Start a real control plane on this machine: etcd and kube-apiserver'
guarded controlplane up >"$dir/env"
eval "$(cat "$dir/env")"
PATH="$bin:$(cat "$dir/programs"):$PATH" HOME="$dir"
export PATH HOME

say 'Apply manifests in dependency order: namespace and CRD first, then the other objects'
run kubectl k8sconnect apply -f test/e2e/testdata/shop
say 'Apply them again: nothing would change, so nothing is written'
run kubectl k8sconnect apply -f test/e2e/testdata/shop

say 'A colleague scales the Deployment by hand, and another changes its image'
run kubectl -n shop scale deployment/web --replicas=5
run kubectl -n shop set image deployment/web app=registry.example/web:1.1-hotfix

say 'Show what apply would change, and who owns the contested fields now'
no kubectl k8sconnect diff -f test/e2e/testdata/shop
say 'Apply overwrites nothing: it names the owner of each contested field, and stops'
no kubectl k8sconnect apply -f test/e2e/testdata/shop

say 'Yield the replicas to the colleague, and take back the image'
run kubectl k8sconnect apply -f test/e2e/testdata/shop \
  --yield 'deployment.apps/web:.spec.replicas' \
  --take 'deployment.apps/web:.spec.template.spec.containers[name="app"].image'
run kubectl -n shop get deployment web -o custom-columns='REPLICAS:.spec.replicas,IMAGE:.spec.template.spec.containers[0].image'
guarded controlplane down
say 'Done; everything is torn down'
