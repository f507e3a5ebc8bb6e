// Package inventory lists the objects that a tool applies: a Helm release, read from its Secret
// without Helm; a Kustomization or a HelmRelease of Flux; an Application of Argo CD.
package inventory
