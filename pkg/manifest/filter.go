package manifest

import (
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

type filter struct {
	Result
	skip  bool
	hooks Hooks
}

func (s *filter) add(file []*outcome) []error {
	var foreign []*outcome
	holdsObject := false
	for _, o := range file {
		if o.foreign != "" {
			foreign = append(foreign, o)
		}
		holdsObject = holdsObject || o.holdsObject
	}
	if len(foreign) > 0 && !holdsObject {
		if filepath.Base(foreign[0].source.File) == ConfigFile {
			return nil // Our own config file may be in the folder of the manifests.
		}
		// A file without an object is reported once, not once for each document.
		if s.skip {
			s.Skipped = append(s.Skipped, Skipped{Source: foreign[0].source, Reason: foreign[0].foreign})
			return nil
		}
		return []error{foreign[0].noObject("--skip-non-objects skips such files")}
	}
	var faults []error
	for _, o := range file {
		if o.foreign != "" {
			faults = append(faults, o.noObject(""))
		}
		faults = append(faults, o.faults...)
		for _, f := range o.objects {
			if err := s.keep(f); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return faults
}

func (s *filter) keep(f found) error {
	if f.unmatched {
		s.Unselected = append(s.Unselected, f.Ref())
		return nil
	}
	if keep, fault := s.sift(f.hook); !keep {
		return fault
	}
	s.Objects = append(s.Objects, f.Manifest)
	if f.warning != "" {
		s.Warnings = append(s.Warnings, Warning{Ref: f.Ref(), Source: f.Source, Text: f.warning})
	}
	return nil
}

// sift reports whether to keep an object. It returns a fault if the object is a hook and hooks are
// an error. The parameter h is nil if the object is not a hook.
func (s *filter) sift(h *Hook) (keep bool, fault error) {
	switch {
	case h == nil, s.hooks == HooksApply && h.Applicable():
		return true, nil
	case s.hooks == HooksError:
		return false, yamldoc.At(h.Source, h.Ref.String()+" is a Helm hook ("+strings.Join(h.On, ", ")+")",
			"--helm-hooks=skip skips hooks; "+ApplyHooksHint)
	default:
		s.Hooks = append(s.Hooks, *h)
		return false, nil
	}
}

func labelsOf(u *unstructured.Unstructured) labels.Set {
	set := labels.Set{}
	metadata, _ := u.Object["metadata"].(map[string]any)
	written, _ := metadata["labels"].(map[string]any)
	for k, v := range written {
		set[k], _ = v.(string)
	}
	return set
}

// Hooks determines how to treat Helm hooks: objects that Helm creates at certain events, usually to
// run once.
type Hooks string

// HooksSkip, HooksApply and HooksError are the ways to treat Helm hooks.
const (
	HooksSkip Hooks = ""
	// HooksApply applies the hooks of an install or upgrade. It skips tests and the hooks for a
	// delete or rollback.
	HooksApply Hooks = "apply"
	HooksError Hooks = "error"
)

// Hook is a Helm hook that was skipped.
type Hook struct {
	Ref    object.Ref
	Source object.Source
	On     []string
}

// Applicable reports whether [HooksApply] would have kept the hook.
func (h Hook) Applicable() bool {
	return slices.ContainsFunc(h.On, func(moment string) bool {
		return slices.Contains([]string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}, moment)
	})
}

const hookAnnotation = "helm.sh/hook"

// Helm 2 marked a chart's CRDs as crd-install. They belong to the chart and are not hooks in Helm
// 3.
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

func onlyHooks(hooks []Hook) error {
	fault := &inputError{text: "the input contains only Helm hooks, which were skipped"}
	if slices.ContainsFunc(hooks, Hook.Applicable) {
		fault.hint = ApplyHooksHint
	}
	return fault
}

// ApplyHooksHint explains how to apply the hooks that are [Hook.Applicable].
const ApplyHooksHint = "--helm-hooks=apply applies install and upgrade hooks as objects"
