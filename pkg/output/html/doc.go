// Package html writes results as one HTML file: it sorts and filters in a browser, prints, and
// loads nothing. Text from a cluster is always text in it, never markup.
package html
