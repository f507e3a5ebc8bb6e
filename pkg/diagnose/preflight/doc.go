// Package preflight finds what will not work before a set of manifests is applied. [Foresee]
// returns a remark for each fault, such as a missing Secret or a rollout that will deadlock.
// docs/preflight.md lists the stable codes. It makes no remark in doubt, and never reads the values
// of Secrets.
package preflight
