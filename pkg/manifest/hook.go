package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Hooks says what to do with Helm's hooks in the input: objects that a chart's author
// meant Helm to create at a certain moment, most of them to run once.
type Hooks string

// The choices for Helm's hooks.
const (
	// HooksSkip leaves them out and lists them in [Result].Hooks.
	HooksSkip Hooks = ""
	// HooksApply treats the hooks of an install or an upgrade like any other object.
	// Tests, and hooks of a delete or a rollback, are left out all the same.
	HooksApply Hooks = "apply"
	// HooksError makes each hook a fault.
	HooksError Hooks = "error"
)

// Hook is one of Helm's hooks that was left out.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	// On lists the moments at which Helm would run it, such as pre-install.
	On []string
}

// Applicable reports whether [HooksApply] would have kept the hook.
func (h Hook) Applicable() bool {
	return slices.ContainsFunc(h.On, func(moment string) bool {
		return slices.Contains([]string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}, moment)
	})
}

const hookAnnotation = "helm.sh/hook"

// hookOf returns the hook that an object is, or false. Helm 2 marked a chart's
// definitions as crd-install: they belong to the chart, and Helm 3 no longer knows the
// mark.
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

// onlyHooks is the fault of an input that holds nothing but hooks.
func onlyHooks(hooks []Hook) error {
	fault := &inputError{text: "the input holds only Helm hooks, which were left out"}
	if slices.ContainsFunc(hooks, Hook.Applicable) {
		fault.hint = ApplyHooksHint
	}
	return fault
}

// ApplyHooksHint says how to apply the hooks that [Hook.Applicable] reports.
const ApplyHooksHint = "--helm-hooks=apply applies those of an install or an upgrade as objects"
