// Package encode writes values as JSON, YAML and KYAML that are plain text for a terminal
// too: whatever is not printable is escaped, and reads as the same value.
package encode
