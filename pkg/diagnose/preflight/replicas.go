package preflight

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// replicas reports workloads that an autoscaler scales and that fall to the server's default,
// one: mostly the manifest no longer states the replicas, as every page on autoscaling advises,
// and whoever applied them before still owns them.
func (v *view) replicas() []event.Remarked {
	var out []event.Remarked
	for i := range v.set.objects {
		o := &v.set.objects[i]
		if !o.Changes || o.Before == nil || o.Ref.GVK.Group != "apps" || podsOf(o.Before) <= 1 || podsOf(o.After) != 1 {
			continue
		}
		name := v.scaler(o)
		if name == "" {
			continue
		}
		out = append(out, event.Remarked{
			Ref: o.Ref, Code: "ReplicasReset", Path: ".spec.replicas",
			Text: fmt.Sprintf("%s become 1, although HorizontalPodAutoscaler %s scales it", text.Count(int(podsOf(o.Before)), "replica"), text.Excerpt(name)),
			Hint: "give the field up first, and its value stays: " + give(o, ".spec.replicas"),
		})
	}
	return out
}

// give is the command that leaves a field to the controllers that scale.
func give(o *Object, path string) string {
	return command.Kubectl("k8sconnect", "give") + " " + o.Ref.Resource() + " " + path + " -n " + o.Ref.Namespace + " --to=kube-controller-manager"
}

// scaler returns the name of a HorizontalPodAutoscaler, of the set or known to be in the
// cluster, that scales the object.
func (v *view) scaler(of *Object) string {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	live, _ := v.List(gvk, of.Ref.Namespace)
	for _, o := range v.set.of(gvk.Group, gvk.Kind, of.Ref.Namespace) {
		live = append(live, o.After)
	}
	for _, u := range live {
		if targets(u, of.Ref) {
			return u.GetName()
		}
	}
	return ""
}
