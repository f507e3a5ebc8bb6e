// Package argocd turns the fields that Argo CD is set to ignore into rules of k8sconnect.yaml.
package argocd
