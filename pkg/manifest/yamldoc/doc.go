// Package yamldoc cuts a text into documents, decodes each as kubectl would, and finds the place
// of any field. A text that kubectl accepts silently and that would be lost is a fault with its
// line: duplicate keys, text after the value, exploding aliases. It knows no kinds.
package yamldoc
