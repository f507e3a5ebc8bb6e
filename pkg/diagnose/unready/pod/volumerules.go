package pod

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"

// VolumeRules are the rules about claims and volumes, over a view of what is known.
type VolumeRules struct{ *rule.View }

// VolumeRulesOn returns the rules over a view.
func VolumeRulesOn(v *rule.View) VolumeRules { return VolumeRules{View: v} }
