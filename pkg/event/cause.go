package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Cause is one reason why an object does not reach the awaited state: it does not
// get ready, or does not go away.
type Cause struct {
	// Code is stable, and for machines: FinalizerControllerGone.
	Code string
	// Message is one sentence for people.
	Message string
	// Evidence is what the cause is concluded from, one piece a line.
	Evidence []string
	// Next is the command to run, or the decision to make; empty if there is
	// nothing to do but wait. A command has a slot for flags: package command fills
	// it.
	Next string
	// Risk is what running Next may lose; empty if nothing.
	Risk string
	// BlockedBy is the object that has to change; zero if there is none, or it is
	// unknown.
	BlockedBy object.Ref
	// Passing tells that it does not keep the object from getting ready: it is about Pods of
	// an older revision, which are replaced, or about what is behind a load balancer. The
	// wait may well end although it stays.
	Passing bool
	// Doubt tells that it is no cause that was found, but says what could not be read while
	// looking for one.
	Doubt bool
	// Hearsay tells that the cause rests on what a controller wrote down when it tried last,
	// which cannot be checked and may be over. Age is how long ago that was when the cause
	// was concluded.
	Hearsay bool
	Age     time.Duration
	// Container is the one that it is about; zero where it is about none, or where what
	// that wrote tells nothing.
	Container Container
	// Log is the end of what Container wrote, line by line, where it was asked for.
	Log []string
}

// Container is one container of a Pod, as logs are asked for.
type Container struct {
	Namespace, Pod, Name string
	// Previous means the instance before the one that is there now.
	Previous bool
}

// Runs says which images the Pods of a workload run.
type Runs struct {
	Ref object.Ref
	// Images by container, what most Pods run first.
	Images []Image
}

// Image is one image that a container of a workload runs.
type Image struct {
	Container string `json:"container"`
	// Image is what the template calls it, and ID what its node calls it, with the
	// registry's digest where that is known.
	Image string `json:"image"`
	ID    string `json:"imageID"`
	// Pulls reports whether nodes pull it each time they start the container.
	Pulls bool         `json:"-"`
	Pods  []RunningPod `json:"pods"`
}

// RunningPod is a Pod that runs an image.
type RunningPod struct {
	Name  string    `json:"name"`
	Node  string    `json:"node,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

func (Runs) event() {}
