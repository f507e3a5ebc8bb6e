// Package e2e runs the plugin against a real control plane. Each file in testdata/script
// is one story: commands, manifests and the expected output, in one file. `go test
// ./test/e2e -run TestScript/NAME -v` runs one of them.
//
// A script finds these in its environment: NS, a namespace of its own that exists already
// (its files may say $NS too); KUBECONFIG; and on its PATH the plugin
// (kubectl-k8sconnect) and the kubectl that belongs to the cluster. CRDS is the folder of
// the webhook's definitions.
package e2e_test
