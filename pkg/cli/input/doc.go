// Package input turns -f, -k, -l and --helm-hooks into manifests and, with the kinds of a
// cluster, into a plan; and --field-manager, --take, --yield and --adopt-from into a predictor.
package input
