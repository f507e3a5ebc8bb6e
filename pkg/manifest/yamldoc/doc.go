// Package yamldoc splits a text into documents, decodes each like kubectl, and finds the place of
// any field. Start with [Split]. It reports faults that kubectl ignores, with their lines:
// duplicate keys, text after the value, exploding aliases. Documents need not be Kubernetes
// objects.
package yamldoc
