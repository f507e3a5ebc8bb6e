package event

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// Cause is one reason why what somebody waits for does not happen: an object that
// does not get ready, or one that does not go away.
type Cause struct {
	// Code is stable, and for machines: FinalizerControllerGone.
	Code string
	// Message is one sentence for people.
	Message string
	// Evidence is what it is concluded from, each piece on a line.
	Evidence []string
	// Next is the command to run, or what to decide; empty where there is nothing
	// to do but wait. A command has a slot for flags: package command fills it.
	Next string
	// Risk is what may be lost by running Next; empty where nothing is.
	Risk string
	// BlockedBy is the object that has to change; zero where it is none, or not
	// known.
	BlockedBy object.Ref
}
