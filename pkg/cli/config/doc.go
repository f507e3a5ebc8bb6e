// Package config reads k8sconnect.yaml: what holds for every run of a set of manifests, some
// of it for some contexts alone. It finds the file beside the input or takes the one that is
// named, says where each fault of it is, and hands what it sets to the flags of the verb.
package config
