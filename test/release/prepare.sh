#!/bin/sh
# Writes a version (v1.2.3) and today's date into CHANGELOG.md, and the version into the chart.
set -eu
case ${1-} in
  v[0-9]*.[0-9]*.[0-9]*) version=${1#v} ;;
  *) echo "prepare: VERSION=${1-} is no version such as v1.2.3" >&2; exit 1 ;;
esac
cd "$(dirname "$0")/../.."
if ! grep -q "^## \[$version\] - " CHANGELOG.md; then
  echo "prepare: CHANGELOG.md has no section ## [$version] - unreleased; give the changes of this release that heading" >&2
  exit 1
fi
case $version in *-*) prerelease=true ;; *) prerelease=false ;; esac
edit() { # like sed -i, which differs between systems
  file=$1; shift
  sed "$@" "$file" >"$file.new"
  cat "$file.new" >"$file"
  rm "$file.new"
}
edit CHANGELOG.md "s/^## \[$version\] - .*/## [$version] - $(date -u +%F)/"
edit charts/k8sconnect/Chart.yaml -e "s/^version: .*/version: $version/" -e "s/^appVersion: .*/appVersion: $version/" \
  -e "s|\(image: .*/webhook\):.*|\1:$version|" -e "s/\(artifacthub.io\/prerelease\): .*/\1: \"$prerelease\"/"
