// Package command builds the commands that are printed for people to paste.
//
//	next := command.Kubectl("get") + " pods -n shop"
//
// A pasted command has to act on the cluster, and as the user, that the run was about.
// Only the command line knows which flags say so, so a command has a slot for them
// behind its verb, and [Fill] inserts them where text leaves the program.
package command
