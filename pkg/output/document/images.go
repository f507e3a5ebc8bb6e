package document

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// imageEntry is one image that a container of a workload's Pods runs.
type imageEntry struct {
	Container string       `json:"container"`
	Image     string       `json:"image"`
	ImageID   string       `json:"imageID"`
	Pods      []runningPod `json:"pods"`
}

type runningPod struct {
	Name  string     `json:"name"`
	Node  string     `json:"node,omitempty"`
	Since *time.Time `json:"since,omitempty"`
}

func imagesOf(runs event.Runs) []imageEntry {
	var entries []imageEntry
	for _, i := range runs.Images {
		e := imageEntry{Container: i.Container, Image: i.Image, ImageID: i.ID}
		for _, p := range i.Pods {
			pod := runningPod{Name: p.Name, Node: p.Node}
			if !p.Since.IsZero() {
				since := p.Since.UTC()
				pod.Since = &since
			}
			e.Pods = append(e.Pods, pod)
		}
		entries = append(entries, e)
	}
	return entries
}
