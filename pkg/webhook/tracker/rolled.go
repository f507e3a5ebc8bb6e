package tracker

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Rollouts receives the versions of Deployments, StatefulSets and DaemonSets. Its method never
// blocks.
type Rollouts interface {
	// Committed receives an object's generation, and the version that directly preceded this one.
	Committed(o ownership.Object, before string, generation int64)
}

// rolled passes on a version that directly follows the one that is remembered.
func (f *follower) rolled(o *metav1.PartialObjectMetadata) {
	if f.opts.Rollouts == nil || o.UID == "" || f.resource.Group != "apps" {
		return
	}
	switch f.resource.Resource {
	case "deployments", "statefulsets", "daemonsets":
	default:
		return
	}
	f.mu.Lock()
	was, known := f.watched.objects[o.UID]
	f.mu.Unlock()
	if known && newer(o.ResourceVersion, was.version) {
		f.opts.Rollouts.Committed(f.object(o.Namespace, o.Name, o.UID), was.version, o.Generation)
	}
}
