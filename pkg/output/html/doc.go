// Package html writes a survey as a single HTML file, which can be sorted, filtered and printed in
// a browser and loads nothing else. It always escapes text from the cluster.
package html
