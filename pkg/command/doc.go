// Package command makes the commands that are printed for somebody to paste.
//
//	next := command.Kubectl("get") + " pods -n shop"
//
// Pasted, a command has to act on the cluster, and as the user, that the run was about.
// Which flags say so is known to the command line alone, so a command has a slot for
// them, behind its verb, and [Fill] puts them in where text leaves the program.
package command
