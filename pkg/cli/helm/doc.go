// Package helm reads a Helm release from the Secret in which Helm keeps it, without Helm.
package helm
