// Package table writes the results of each verb for people: a line an object, below it
// what is worth knowing, the summary last.
package table
