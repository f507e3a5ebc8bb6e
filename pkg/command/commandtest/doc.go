// Package commandtest checks that what is printed to be pasted can be, and acts on the
// cluster that the run was about.
package commandtest
