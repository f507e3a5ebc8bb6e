// Package flux moves objects between Helm and the real kustomize-controller.
package flux
