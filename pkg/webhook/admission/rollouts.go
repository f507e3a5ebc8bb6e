package admission

import (
	"errors"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// RolloutSink receives hints about changed Pod templates. It never blocks, and returns false if it
// drops a hint.
type RolloutSink interface {
	Hint(hint ownership.RolloutHint) bool
}

// rollouts sends hints about writes that change the Pod template of a workload.
type rollouts struct {
	sink  RolloutSink // nil sends none
	count *metrics
}

func (j rollouts) evaluate(r *request) (findings, error) {
	if r.Operation != admissionv1.Update || r.DryRun || r.SubResource != "" || r.Object.isNull() || r.OldObject.isNull() || j.sink == nil {
		return findings{}, nil
	}
	switch r.Kind.Kind {
	case "Deployment", "StatefulSet", "DaemonSet":
	default:
		return findings{}, nil
	}
	if r.Kind.Group != "apps" {
		return findings{}, nil
	}
	if err := errors.Join(r.OldObject.err, r.Object.err); err != nil {
		return findings{}, err
	}
	old, now, err := readBoth(&r.OldObject, &r.Object)
	if err != nil {
		return findings{}, err
	}
	was, is := r.OldObject.metadata, r.Object.metadata
	digest := func(u *unstructured.Unstructured) string {
		template, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "template")
		m, _ := template.(map[string]any)
		return ownership.TemplateDigest(is.UID, m)
	}
	version := schema.GroupVersion{Group: r.Kind.Group, Version: r.Kind.Version}.String()
	hint := ownership.RolloutHint{
		Rollout: ownership.NewRollout(
			time.Now(), r.UserInfo.Username, ownership.WriterOf(was.ManagedFields, is.ManagedFields, r.Options.FieldManager, version), digest(old), digest(now),
		),
		UID: is.UID, ResourceVersion: was.ResourceVersion, Generation: is.Generation,
	}
	if hint.Before != hint.After && !j.sink.Hint(hint) {
		j.count.hintsDropped.Inc()
	}
	return findings{}, nil
}

// both evaluates a review twice. The first one's findings count; the second one has none.
func both(first, second evaluator) evaluator {
	return func(r *request) (findings, error) {
		found, err := first(r)
		_, also := second(r)
		return found, errors.Join(err, also)
	}
}
