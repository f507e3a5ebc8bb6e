// Package scripts_test runs the plugin against a real control plane. Each file in testdata is one
// story: commands, manifests and the expected output; those in testdata/full run only in the second
// circle (test/README.md). `go test ./test/e2e/scripts -run TestScript/NAME -v` runs one of them.
//
// A script finds these in its environment: NS, its own namespace, which exists (its files may say $NS
// too); KUBECONFIG; the plugin (kubectl-k8sconnect) and the cluster's kubectl on the PATH; and CRDS,
// the folder of the webhook's CRDs.
package scripts_test
