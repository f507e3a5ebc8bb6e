// Package help assists users who do not know the command line yet: the usage of a
// command, the words that a shell completes, what was probably meant by an unknown flag
// or value, and what replaces a flag of kubectl's.
package help
