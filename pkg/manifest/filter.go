package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

// filter collects the objects that were asked for.
type filter struct {
	Result
	skip  bool
	hooks Hooks
}

// add takes over the documents of one file and returns its faults.
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
		if isConfig(foreign[0].source.File) {
			return nil // It is beside the manifests, and no slip.
		}
		// The file is something else altogether: report one line, not one for each
		// document.
		if s.skip {
			s.Skipped = append(s.Skipped, Skipped{Source: foreign[0].source, Reason: foreign[0].foreign})
			return nil
		}
		return []error{foreign[0].noObject("--skip-non-objects leaves such files out")}
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
		s.Warnings = append(s.Warnings, Warning{
			Ref: f.Ref(), Source: f.Source, Text: f.warning,
		})
	}
	return nil
}

// sift reports whether to keep an object, by the choice for hooks; h is nil if it is none.
// The error is the fault of a hook where none is allowed.
func (s *filter) sift(h *Hook) (keep bool, fault error) {
	switch {
	case h == nil, s.hooks == HooksApply && h.Applicable():
		return true, nil
	case s.hooks == HooksError:
		return false, yamldoc.At(h.Source, h.Ref.String()+" is a Helm hook ("+strings.Join(h.On, ", ")+")",
			"--helm-hooks=skip leaves hooks out; --helm-hooks=apply applies those of an install or an upgrade as objects")
	default:
		s.Hooks = append(s.Hooks, *h)
		return false, nil
	}
}

// labelsOf returns the labels of an object; null reads as empty, as the API
// server reads it.
func labelsOf(u *unstructured.Unstructured) labels.Set {
	set := labels.Set{}
	metadata, _ := u.Object["metadata"].(map[string]any)
	written, _ := metadata["labels"].(map[string]any)
	for k, v := range written {
		set[k], _ = v.(string)
	}
	return set
}
