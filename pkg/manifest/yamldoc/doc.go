// Package yamldoc splits a text into documents, decodes each like kubectl, and finds the place of
// any field. Start with [Split]. It reports faults that kubectl ignores, with their lines:
// duplicate keys, text after the value, exploding aliases. It knows nothing about kinds.
package yamldoc
