// Package chart checks what charts/k8sconnect makes of its values, and lets other
// tests install it.
//
//	h := chart.NewHelm(t, c.KubeconfigPath)
//	h.Run(t, "install", "k8sconnect", chart.Dir(t), "--namespace", "k8sconnect")
//
// Helm is the one of test/tools/helm; `make bin/helm` builds it. The API server's view of
// the objects is tested in test/e2e/chart.
package chart
