// Package html writes results as one HTML file: it sorts and filters in a browser, prints, and
// loads nothing from anywhere. Text of a cluster is text in it, never markup.
package html
