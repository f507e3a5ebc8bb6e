// Package help prints usage, provides the words that a shell completes, suggests similar flags and
// values, and names replacements for flags of kubectl.
package help
