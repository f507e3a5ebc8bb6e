// Package completion is the words that a shell may offer, for flags and for objects, and the
// program by which kubectl completes the plugin.
package completion
