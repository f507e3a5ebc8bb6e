// Package e2e_test runs the plugin against a real control plane. Each file in testdata/script
// is one story: commands, manifests and the expected output, in one file; those in its folder full
// are of the second circle (test/README.md). `go test
// ./test/e2e -run TestScript/NAME -v` runs one of them.
//
// A script finds these in its environment: NS, a namespace of its own that exists already
// (its files may say $NS too); KUBECONFIG; and on its PATH the plugin
// (kubectl-k8sconnect) and the kubectl that belongs to the cluster. CRDS is the folder of
// the webhook's definitions.
package e2e_test
