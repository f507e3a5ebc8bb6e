// Package help is what a person gets who does not know the command line yet: the usage of a
// command, the words that a shell completes, what was probably meant by a flag or a value
// that there is not, and what there is in place of a flag of kubectl's.
package help
