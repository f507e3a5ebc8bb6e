// Package input is what verbs that read manifests make of -f, -k, -l and --helm-hooks: the
// manifests, and with what a cluster says of their kinds, a plan.
package input
