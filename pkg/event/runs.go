package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Runs says which images the Pods of a workload run.
type Runs struct {
	Ref object.Ref
	// Images by container, what most Pods run first.
	Images []Image
}

// Image is one image that a container of a workload runs.
type Image struct {
	Container string
	// Image is what the template calls it, and ID what its node calls it, with the
	// registry's digest where that is known.
	Image, ID string
	// Pulls reports whether nodes pull it each time they start the container.
	Pulls bool
	Pods  []RunningPod
}

// RunningPod is a Pod that runs an image.
type RunningPod struct {
	Name, Node string
	Since      time.Time
}

func (Runs) event() {}
