// Package pod says why one Pod is not ready: the first of the steps to being ready that it
// does not get over, from a node by way of images and what it refers to, to its containers'
// probes.
package pod

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/volume"
)

// Rules are those about Pods, over what is known.
type Rules struct {
	*rule.View
	volumes volume.Rules
}

// On returns the rules over a view.
func On(v *rule.View) Rules { return Rules{View: v, volumes: volume.On(v)} }
