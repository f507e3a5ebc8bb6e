// Package table writes the results of each verb for people: one line for each object, notes below
// it, and a summary at the end.
package table
