#!/usr/bin/env bash
# Prints how far the packages of cmd and pkg are coupled, without test files: how many of our own
# packages a package imports, and the share of all lines that it drags along, directly or through
# others. The first argument may be a number of packages to list, those with the largest share first.
set -euo pipefail
cd "$(dirname "$0")/.."
go list -f '{{.ImportPath}} {{.Dir}} {{join .GoFiles ","}} {{join .Imports ","}}' ./cmd/... ./pkg/... |
  while read -r path dir files imports; do
    lines=$(IFS=,; cd "$dir" && cat $files | wc -l)
    echo "$path $lines ${imports:-}"
  done | awk -v ours="$(go list -m)/" -v most="${1:-0}" '
  { paths[++n] = $1; lines[$1] = $2; all += $2; imports[$1] = $3 }
  function share(path, list, i, m, queue, head, tail, total) {
    split("", reached); head = tail = 1; queue[1] = path; reached[path] = 1; total = 0
    while (head <= tail) {
      path = queue[head++]; total += lines[path]
      m = split(imports[path], list, ",")
      for (i = 1; i <= m; i++) if (list[i] in lines && !(list[i] in reached)) { reached[list[i]] = 1; queue[++tail] = list[i] }
    }
    return 100 * total / all
  }
  END {
    for (k = 1; k <= n; k++) {
      p = paths[k]; m = split(imports[p], list, ","); direct = 0
      for (i = 1; i <= m; i++) if (list[i] in lines) direct++
      s = share(p); edges += direct; reach += s
      name = p; sub("^" ours "(pkg/)?", "", name)
      row[k] = sprintf("%5.1f %%  %2d imports  %5d lines  %s", s, direct, lines[p], name)
    }
    printf "%d packages, %d lines; a package imports %.1f others and drags %.1f %% of the lines along\n", n, all, edges / n, reach / n
    if (most > 0) { cmd = "sort -rn | head -" most; for (k = 1; k <= n; k++) print row[k] | cmd; close(cmd) }
  }'
