// Package volume says why a Pod does not get its volumes: claims that are not bound, volumes
// that another Pod or node has, and rollouts that wait for their own old Pods to let go.
package volume

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"

// Rules are those about claims and volumes, over what is known.
type Rules struct{ *rule.View }

// On returns the rules over a view.
func On(v *rule.View) Rules { return Rules{View: v} }
