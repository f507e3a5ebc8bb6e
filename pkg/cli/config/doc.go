// Package config finds and reads k8sconnect.yaml, reports each fault with its place, and hands
// its rules and defaults to the flags of a verb. It makes such rules of the fields that Argo CD
// ignores.
package config
