// Package yamldoc splits a text into documents, decodes each one like kubectl, and finds the place
// of a field. Start with [Split]. The package also reports duplicate keys, text after the value,
// and aliases that would make a document too large. Documents need not be Kubernetes objects.
package yamldoc
