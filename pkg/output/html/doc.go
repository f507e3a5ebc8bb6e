// Package html writes a survey as a single HTML file. In a browser, its tables can be sorted and
// filtered, and the page can be printed. The file loads nothing else. The package always escapes
// text from the cluster.
package html
