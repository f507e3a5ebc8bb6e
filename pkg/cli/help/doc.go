// Package help assists users who do not know the command line yet: usage, the words that a shell
// completes, suggestions for an unknown flag or value, and replacements for flags of kubectl.
package help
