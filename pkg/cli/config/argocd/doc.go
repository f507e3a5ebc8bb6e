// Package argocd turns what Argo CD is told to ignore into rules of k8sconnect.yaml.
package argocd
