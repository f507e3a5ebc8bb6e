// Package table writes the results of each verb for people: a line an object, notes below it, the
// summary last.
package table
