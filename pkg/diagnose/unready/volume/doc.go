// Package volume explains why a Pod does not get its volumes: claims that are not bound,
// volumes that another Pod or node has, and rollouts that wait for a volume of their own
// old Pods.
package volume

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"

// Rules are the rules about claims and volumes, over a view of what is known.
type Rules struct{ *rule.View }

// On returns the rules over a view.
func On(v *rule.View) Rules { return Rules{View: v} }
