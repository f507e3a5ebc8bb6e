# Combines the results of all legs (jq -rn -f reduce.jq legs/*.json). Prints how many clusters are the
# same, which ones differ, and each change with its clusters:
#
#   same in 48
#   differs in 2: fsn-3, hel-1
#     configured deployment.apps/web -n shop  (2: fsn-3, hel-1)
[inputs] as $lines
| [$lines[] | select(.type == "leg")] as $legs
| def names: map(.cluster) | unique | join(", ");
  def in_($status): [$legs[] | select(.status == $status)];
  (in_(0) | select(length > 0) | "same in \(length)"),
  (in_(1) | select(length > 0) | "differs in \(length): \(names)"),
  ([$lines[] | select(.type == "compared" and (.object.action | IN("unchanged", "unknown") | not))]
    | group_by([.object.action, .object.kind, .object.namespace, .object.name])[]
    | .[0].object as $o
    | ($o.apiVersion | if contains("/") then "." + split("/")[0] else "" end) as $group
    | "  \($o.action) \($o.kind | ascii_downcase)\($group)/\($o.name)\(if $o.namespace then " -n \($o.namespace)" else "" end)  (\(length): \(names))"),
  ([$legs[] | select(.status > 1)] | select(length > 0) | "unknown in \(length): \(names)")
