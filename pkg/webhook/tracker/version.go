package tracker

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// newer reports whether a version of a resource comes after another one. A version that
// differs and cannot be compared counts as newer, for it came later.
func newer(version, than string) bool { return version != than && !object.Newer(than, version) }
