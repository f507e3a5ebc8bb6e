// Package pod explains why one Pod is not ready, by the first step at which it is stuck: a
// node, its volumes and other references, its images, its containers, their probes.
package pod

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
)

// Rules are the rules about Pods, over a view of what is known.
type Rules struct {
	*rule.View
	volumes VolumeRules
}

// On returns the rules over a view.
func On(v *rule.View) Rules { return Rules{View: v, volumes: VolumeRulesOn(v)} }
