// Package inventory reads what a GitOps tool says it applies: a Kustomization or a HelmRelease
// of Flux, an Application of Argo CD.
package inventory
