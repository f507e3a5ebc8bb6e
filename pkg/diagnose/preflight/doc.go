// Package preflight finds problems in a set of manifests before it is applied. [Foresee] returns a
// remark for each fault, such as a missing Secret or a rollout that will deadlock.
// docs/preflight.md lists the stable codes. When in doubt, it makes no remark. It never reads the
// values of Secrets.
package preflight
