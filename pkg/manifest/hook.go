package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Hooks say what becomes of Helm's hooks in the input: objects that a chart's author
// meant Helm to create at one moment, most of them to run once.
type Hooks string

// What becomes of hooks.
const (
	// HooksSkip leaves them out, and lists them in [Result].Hooks.
	HooksSkip Hooks = ""
	// HooksApply takes those that Helm would run with an install or an upgrade for
	// objects like any others. Tests, and what runs when a release is deleted or rolled
	// back, are left out all the same.
	HooksApply Hooks = "apply"
	// HooksError makes each of them a fault.
	HooksError Hooks = "error"
)

// Hook is one of Helm's hooks that was left out.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	// On are the moments that it is for, such as pre-install.
	On []string
}

// Applicable reports whether [HooksApply] would have kept the hook.
func (h Hook) Applicable() bool {
	return slices.ContainsFunc(h.On, func(moment string) bool {
		return slices.Contains([]string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}, moment)
	})
}

const hookAnnotation = "helm.sh/hook"

// hookOf returns what hook an object is; false if it is none. Helm 2 marked the
// definitions of a chart as crd-install: they are part of it, and Helm 3 does not know
// the word any more.
func hookOf(m object.Manifest) (Hook, bool) {
	moments, marked, _ := unstructured.NestedString(m.Object.Object, "metadata", "annotations", hookAnnotation)
	if !marked {
		return Hook{}, false
	}
	h := Hook{Ref: object.RefOf(m.Object), Source: m.Source}
	for moment := range strings.SplitSeq(moments, ",") {
		if moment = strings.ToLower(strings.TrimSpace(moment)); moment != "" {
			h.On = append(h.On, moment)
		}
	}
	definition := h.Ref.GVK.Group == "apiextensions.k8s.io" && slices.Contains(h.On, "crd-install")
	return h, !definition
}

// sift decides on one object whether it is kept, by what is to become of hooks. The
// error is the fault of one that there must not be.
func (s *sieve) sift(m object.Manifest) (keep bool, fault error) {
	h, isHook := hookOf(m)
	switch {
	case !isHook, s.hooks == HooksApply && h.Applicable():
		return true, nil
	case s.hooks == HooksError:
		return false, at(h.Source, h.Ref.String()+" is a Helm hook ("+strings.Join(h.On, ", ")+")",
			"--helm-hooks=skip leaves hooks out; --helm-hooks=apply applies those of an install or an upgrade as objects")
	default:
		s.Hooks = append(s.Hooks, h)
		return false, nil
	}
}

// onlyHooks is the fault of an input of which nothing is left but its hooks.
func onlyHooks(hooks []Hook) error {
	fault := &inputError{text: "no Kubernetes object in the input but Helm hooks, which were left out"}
	if slices.ContainsFunc(hooks, Hook.Applicable) {
		fault.hint = ApplyHooksHint
	}
	return fault
}

// ApplyHooksHint says how hooks are applied that [Hook.Applicable] is true of.
const ApplyHooksHint = "--helm-hooks=apply applies those of an install or an upgrade as objects"
