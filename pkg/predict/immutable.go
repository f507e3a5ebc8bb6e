package predict

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// immutable explains a refusal to change an immutable field (edge case 29). It suggests --recreate
// only if the server would accept the manifest as a new object, because the manifest may also be
// invalid in other ways.
func (p Predictor) immutable(ctx context.Context, server Server, in *Prediction, causes []metav1.StatusCause) string {
	fields := immutableFields(in, causes)
	if len(fields) == 0 {
		return ""
	}
	advice := cannotChange(fields, in.Item.GVK.Kind) + "; put the live value back into the manifest"
	if HoldsMore(in.Item.GVK.GroupKind()) || TakesVolumes(in.Live) {
		return advice + " (" + errHoldsMore.Error() + ")"
	}
	if _, err := p.anew(ctx, server, in); err != nil {
		return advice + "; --recreate would not help, because the server would also refuse the manifest as a new object: " + reasonAlone(in, err)
	}
	return advice + ", or delete and recreate the object with --recreate=" + in.Item.Resource()
}

func reasonAlone(in *Prediction, err error) string {
	var reasons []string
	for _, cause := range Causes(err) {
		reasons = append(reasons, cause.Field+": "+cause.Message)
	}
	if len(reasons) == 0 {
		reasons = []string{strings.ReplaceAll(err.Error(), twinName(in.Item.Name), in.Item.Name)}
	}
	return redact.Refusal(in.Item.Ref, errors.New(strings.Join(reasons, ", "))).Error()
}

func cannotChange(fields []string, kind string) string {
	return strings.Join(fields, ", ") + " cannot be changed on an existing " + kind
}

// immutableFields returns the immutable fields that the manifest changes. If the server names a
// parent of several fields, the result contains those below it that differ, or the parent if more
// than three differ.
func immutableFields(in *Prediction, causes []metav1.StatusCause) []string {
	const most = 3
	var fields []string
	for _, cause := range causes {
		if !isImmutable(in, cause) {
			continue
		}
		found := []string{"." + cause.Field}
		if paths := differingAt(in, cause.Field); len(paths) > 0 && len(paths) <= most {
			found = paths
		}
		fields = append(fields, found...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

func differingAt(in *Prediction, field string) []string {
	path, stated, live, ok := valuesAt(in, field)
	if !ok {
		return nil
	}
	d := differing{kind: in.Item.GVK.GroupKind(), manifest: in.Body.Object}
	d.walk(path, stated, live)
	return d.paths
}

type differing struct {
	kind     schema.GroupKind
	manifest map[string]any
	paths    []string
}

func (d *differing) walk(path fieldpath.Path, stated, live any) {
	switch v := stated.(type) {
	case map[string]any:
		name := path[len(path)-1].FieldName
		isSelector := name != nil && *name == "selector" // The server compares a selector as one value.
		if l, ok := live.(map[string]any); ok && !isSelector {
			for name, below := range v {
				d.walk(path.Child(fieldpath.FieldElement(name)), below, l[name])
			}
			return
		}
	case []any:
		if l, ok := live.([]any); ok && len(l) == len(v) {
			for i, below := range v {
				d.walk(path.Child(fieldpath.Element{Index: &i}), below, l[i])
			}
			return
		}
	}
	if !within(stated, live) && !sameText(stated, live) && !IsChangeable(d.kind, path) {
		if key, ok := path.ByKey(d.manifest); ok {
			path = key
		}
		d.paths = append(d.paths, path.String())
	}
}

func valuesAt(in *Prediction, field string) (path fieldpath.Path, stated, live any, ok bool) {
	path, err := fieldpath.ParsePath("." + field)
	if err != nil {
		return nil, nil, nil, false
	}
	if key, ok := path.ByKey(in.Body.Object); ok {
		path = key
	}
	stated, is := path.Get(in.Body.Object)
	if one, isList := strings.CutSuffix(strings.TrimSuffix(field, "[0]"), "s"); !is && isList {
		return valuesAt(in, one) // The server may name clusterIPs[0] when the manifest sets clusterIP.
	}
	live, was := path.Get(in.Live.Object)
	return path, stated, live, is && was
}

// isImmutable reports whether a cause says that a field is immutable. The API has no cause type for
// this: the server either forbids the changed value, or calls the value invalid with one of two
// fixed messages.
func isImmutable(in *Prediction, cause metav1.StatusCause) bool {
	if cause.Type == metav1.CauseTypeForbidden {
		_, stated, live, ok := valuesAt(in, cause.Field)
		return ok && !within(stated, live)
	}
	const (
		immutable = "is immutable"            // built-in kinds say "field is immutable"; rules of CRDs say something similar
		setOnce   = "may not change once set" // the addresses of a service
	)
	return cause.Type == metav1.CauseTypeFieldValueInvalid &&
		(strings.HasSuffix(cause.Message, immutable) || strings.HasSuffix(cause.Message, setOnce))
}

func within(stated, live any) bool {
	switch stated := stated.(type) {
	case map[string]any:
		m, ok := live.(map[string]any)
		for name, v := range stated {
			ok = ok && within(v, m[name])
		}
		return ok
	case []any:
		list, ok := live.([]any)
		ok = ok && len(list) == len(stated)
		for i := 0; ok && i < len(stated); i++ {
			ok = within(stated[i], list[i])
		}
		return ok
	default:
		return reflect.DeepEqual(stated, live)
	}
}

// IsChangeable reports whether the field of an existing object can be changed. If the manifest
// changes an immutable field, the server names .spec as a whole, which includes the changeable
// fields. The lists are from Kubernetes' validation:
// https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
// https://kubernetes.io/docs/concepts/workloads/pods/#pod-update-and-replacement
func IsChangeable(kind schema.GroupKind, path fieldpath.Path) bool {
	if len(path) < 2 || path[1].FieldName == nil {
		return false
	}
	switch name := *path[1].FieldName; kind {
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		switch name {
		case "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
			"persistentVolumeClaimRetentionPolicy", "minReadySeconds":
			return true
		}
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return name == "resources" || name == "volumeAttributesClassName"
	case schema.GroupKind{Kind: "Pod"}:
		if name == "containers" || name == "initContainers" {
			last := path[len(path)-1].FieldName
			return last != nil && *last == "image"
		}
		return name == "activeDeadlineSeconds" || name == "terminationGracePeriodSeconds" || name == "tolerations"
	}
	return false
}
