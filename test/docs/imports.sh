#!/usr/bin/env bash
# Prints docs/design/imports.md: the imports between the packages of cmd and pkg, without test files.
set -euo pipefail
cd "$(dirname "$0")/../.."
module=$(go list -m)
printf '# Imports\n\nWritten by `make generate`. The rules: [architecture.md](architecture.md#who-imports-whom).\n\n```\n'
go list -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}' ./cmd/... ./pkg/... | awk -v ours="$module/" '
  function short(path) { sub("^" ours "(pkg/)?", "", path); return path }
  {
    line = short($1) " →"
    for (i = 2; i <= NF; i++) if (index($i, ours) == 1) line = line (line ~ /→$/ ? " " : ", ") short($i)
    print line
  }'
printf '```\n'
