#!/bin/sh
# Prints the version, the commit and the date that programs built here are stamped with,
# one a line, or as flags of the linker with -X. Without git, as in an unpacked archive of
# the source, there is only the version that VERSION gives, if it does.
#
# The commit is the last one that changed anything but krew-manifest.yaml. So the commit
# that writes the checksums of the archives into that file does not change the archives
# (docs/design/releases.md).
#
# The version is the tag; between tags what git describe says; before the first one
# v0.0.0 and the number of commits, which a shallow clone does not know. VERSION in the
# environment comes before all of them; what is no version is refused, before it is in a
# program, in the name of a file, or in a command.
set -eu
cd "$(dirname "$0")/../.."

count() {
  [ "$(git rev-parse --is-shallow-repository)" = true ] || echo "$(git rev-list --count "$1")-"
}

commit=
if [ -e .git ]; then # Not the repository that an unpacked archive may lie in.
  commit=$(git log -1 --format=%H -- . ':(exclude)krew-manifest.yaml' 2>/dev/null) || commit=
fi

version=${VERSION:-}
number='(0|[1-9][0-9]*)'
if [ -n "$version" ] && ! printf '%s' "$version" | tr '\n' ' ' | grep -Eq "^v$number\.$number\.$number(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\$"; then
  echo "VERSION=$version: a version is vMAJOR.MINOR.PATCH, such as v1.2.3 or v1.2.3-rc.1" >&2
  exit 1
fi
if [ -z "$version" ] && [ -n "$commit" ]; then
  describe='git describe --tags --match v[0-9]* --abbrev=12'
  set -f
  version=$($describe --exact-match HEAD 2>/dev/null) ||
    version=$($describe "$commit" 2>/dev/null) ||
    version=v0.0.0-$(count "$commit")g$(git rev-parse --short=12 "$commit")
  if [ -n "$(git status --porcelain -- . ':(exclude)krew-manifest.yaml')" ]; then
    version=$version-dirty
  fi
fi

date=
if [ -n "$commit" ]; then
  date=$(TZ=UTC git show -s --date='format-local:%Y-%m-%dT%H:%M:%SZ' --format=%cd "$commit")
fi

if [ "${1:-}" = -X ]; then
  package=github.com/k8sconnect/kubectl-k8sconnect/pkg/build
  printf '%s' "-X $package.version=$version -X $package.commit=$commit -X $package.date=$date"
else
  printf '%s\n' "$version" "$commit" "$date"
fi
