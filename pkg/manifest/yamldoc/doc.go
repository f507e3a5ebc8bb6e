// Package yamldoc splits a text into documents, decodes each as kubectl would, and finds the place
// of any field. It reports, with their lines, faults that kubectl accepts silently: duplicate keys,
// text after the value, exploding aliases. It knows no kinds.
package yamldoc
