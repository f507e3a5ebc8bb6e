package unready

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/pod"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rules are the rules for one object, over a view of what is known.
type rules struct {
	*rule.View
	pods    pod.Rules
	volumes pod.VolumeRules
	// told are the objects that a rule has explained.
	told map[object.Key]bool
}

func newRules(r *diagnose.Run, u *unstructured.Unstructured) *rules {
	v := rule.New(r, u)
	return &rules{View: v, pods: pod.On(v), volumes: pod.VolumeRulesOn(v), told: map[object.Key]bool{}}
}
