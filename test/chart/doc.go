// Package chart checks the objects that charts/k8sconnect renders for its values, and lets other
// tests install it: start with [NewHelm]. `make bin/helm` builds Helm. The API server's view of the
// objects is tested in test/e2e/chart.
package chart
