#!/bin/sh
# Prints the stamp of programs that are built here: version, commit and date, one per line, or as
# linker flags with -X. Without git, as in an unpacked source archive, commit and date are empty, and
# the version is VERSION or empty.
#
# The commit is the last one that changed any file but krew-manifest.yaml. So the commit that writes
# the archives' checksums to that file does not change the archives (docs/design/releases.md).
#
# The version is the tag; between tags, the output of git describe; before the first tag, v0.0.0 with
# the number of commits (omitted in a shallow clone, which lacks it) and the commit. It ends with
# -dirty if a file other than krew-manifest.yaml has changes. VERSION in the environment overrides it,
# and is checked before it becomes part of a program, a file name or a command.
set -eu
cd "$(dirname "$0")/../.."

count() {
  [ "$(git rev-parse --is-shallow-repository)" = true ] || echo "$(git rev-list --count "$1")-"
}

commit=
if [ -e .git ]; then # otherwise git could find a repository around an unpacked archive
  commit=$(git log -1 --format=%H -- . ':(exclude)krew-manifest.yaml' 2>/dev/null) || commit=
fi

version=${VERSION:-}
number='(0|[1-9][0-9]*)'
if [ -n "$version" ] && ! printf '%s' "$version" | tr '\n' ' ' | grep -Eq "^v$number\.$number\.$number(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\$"; then
  echo "VERSION=$version is not a version: use vMAJOR.MINOR.PATCH, such as v1.2.3 or v1.2.3-rc.1" >&2
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
