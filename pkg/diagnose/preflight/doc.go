// Package preflight finds, before a set of manifests is applied, what will not work. [Foresee]
// returns a remark for each fault: a missing Secret, a rollout that will deadlock, a Service that
// selects nothing. Codes are stable; docs/preflight.md lists them. In doubt, it makes no remark. It
// reads the keys of Secrets and never the values.
package preflight
