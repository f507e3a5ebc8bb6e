// Package preflight finds problems in a set of manifests before it is applied. The package never
// reads the values of Secrets. [Foresee] returns a remark for each fault, such as a missing Secret
// or a rollout that will deadlock. When in doubt, it makes no remark. docs/preflight.md lists the
// stable codes.
package preflight
