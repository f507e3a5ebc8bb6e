// Package input turns -f, -k, -l and --helm-hooks into manifests and, with what a cluster
// says of their kinds, into a plan.
package input
