// Package completion provides the words that a shell may offer, for flags and for
// objects, and the program with which kubectl completes the plugin.
package completion
