package predict

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// immutable explains a refusal to change immutable fields (edge case 29): it returns the fields and
// advice, or "" if no field is immutable. It suggests --recreate only if the server would accept the
// manifest as a new object, because the manifest may also be invalid in other ways.
func (p Predictor) immutable(ctx context.Context, server Server, in *Prediction, causes []metav1.StatusCause) (what, advice string) {
	fields, known := refusedChanges(in, causes)
	if len(fields) == 0 {
		return "", ""
	}
	contains := HoldsMore(in.Item.GVK.GroupKind()) || TakesVolumes(in.Live)
	var refusal error
	if !known || !contains {
		_, refusal = p.asNew(ctx, server, in, known)
	}
	if !known && refusal != nil {
		return "", ""
	}
	what, advice = cannotChange(fields, in.Item.GVK.Kind), "put the live value back into the manifest"
	resize, ok := resizeCommand(in, fields)
	switch {
	case ok:
		return what + " by an apply", "resize it in place (Kubernetes 1.33 and newer): " + resize
	case contains:
		advice += " (" + errHoldsMore.Error() + ")"
	case refusal != nil && p.lacksProbe(ctx, server, in, refusal):
		advice += "; it is unknown whether --recreate would help: to check it needs the right to patch an object of any name"
	case refusal != nil:
		advice += "; --recreate would not help, because the server would also refuse the manifest as a new object: " + reasonAlone(in, refusal)
	default:
		advice += ", or delete and recreate the object with --recreate=" + in.Item.Resource()
	}
	return what, advice
}

// lacksProbe reports whether the dry run as a new object was refused because we may not patch an object
// with its name, which says nothing about the manifest.
func (p Predictor) lacksProbe(ctx context.Context, server Server, in *Prediction, refusal error) bool {
	permissions, ok := server.(Permissions)
	if !ok {
		return false
	}
	twin := in.Item
	twin.Name = ProbeName(twin.Name)
	_, lacks := errors.AsType[*DeniedError](Denied(ctx, permissions, twin, refusal))
	return lacks
}

// asNew returns the answer to a dry run that submits the manifest as a new object. If the words of
// the refusal do not say that a field is immutable (known), its effect must: the server refuses the
// state of the new object for the live one, too. If the server accepts it, the refusal is due to
// something that only the live object has.
func (p Predictor) asNew(ctx context.Context, server Server, in *Prediction, known bool) (*unstructured.Unstructured, error) {
	answer, err := p.createDryRun(ctx, server, in)
	if err != nil || known {
		return answer, err
	}
	same := answer.DeepCopy()
	same.Object["metadata"] = in.Live.DeepCopy().Object["metadata"]
	same.SetManagedFields(nil)
	if status, has := in.Live.Object["status"]; has {
		same.Object["status"] = status
	}
	if _, err := server.Update(ctx, in.Item.Kind, same, p.probe()); !apierrors.IsInvalid(err) {
		return nil, errNotImmutable
	}
	return answer, nil
}

var errNotImmutable = errors.New("no field is immutable")

func reasonAlone(in *Prediction, err error) string {
	var reasons []string
	for _, cause := range Causes(err) {
		reasons = append(reasons, cause.Field+": "+cause.Message)
	}
	if len(reasons) == 0 {
		reasons = []string{err.Error()}
	}
	reason := strings.ReplaceAll(strings.Join(reasons, ", "), ProbeName(in.Item.Name), in.Item.Name)
	return redact.Refusal(in.Item.Ref, errors.New(reason)).Error()
}

func cannotChange(fields []refused, kind string) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.text
	}
	return strings.Join(texts, ", ") + " cannot be changed on an existing " + kind
}

// refused is a change that the server refused.
type refused struct {
	text string
	path fieldpath.Path // nil if text stands for several fields
}

// refusedChanges returns the fields that the refusal names and that the manifest changes or omits.
// If the server's words say that some are immutable (known), it returns only these. If the server
// names a parent of several fields, the result contains those below it that differ, or the parent if
// more than three differ.
func refusedChanges(in *Prediction, causes []metav1.StatusCause) (fields []refused, known bool) {
	known = slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return isImmutable(in, c) })
	for _, cause := range causes {
		switch {
		case known && !isImmutable(in, cause):
			continue
		case cause.Type != metav1.CauseTypeFieldValueInvalid && cause.Type != metav1.CauseTypeForbidden:
			continue
		}
		fields = append(fields, changesAt(in, cause.Field, known)...)
	}
	slices.SortFunc(fields, func(a, b refused) int { return strings.Compare(a.text, b.text) })
	return slices.CompactFunc(fields, func(a, b refused) bool { return a.text == b.text }), known
}

func changesAt(in *Prediction, field string, known bool) []refused {
	const most = 3
	path, declared, live, both := valuesAt(in, field)
	for ; !both && len(path) > 1 && !in.has(path); path = path[:len(path)-1] {
		// The server may name a field of its internal type, such as spec.persistentvolumesource.
		parent := path[:len(path)-1]
		if in.has(parent) {
			var is, was bool
			declared, is = parent.Get(in.Body.Object)
			live, was = parent.Get(in.Live.Object)
			both, field = is && was, strings.TrimPrefix(parent.String(), ".")
		}
	}
	if len(path) == 0 {
		return nil
	}
	d := differing{kind: in.Item.GVK.GroupKind(), manifest: in.Body.Object}
	if both {
		d.walk(path, declared, live)
	} else if _, is := path.Get(in.Body.Object); is {
		d.add(path)
	}
	d.omitted(in, path)
	switch {
	case len(d.fields) > most, len(d.fields) == 0 && known:
		return []refused{{text: "." + field}}
	default:
		return d.fields
	}
}

func (in *Prediction) has(path fieldpath.Path) bool {
	_, is := path.Get(in.Body.Object)
	_, was := path.Get(in.Live.Object)
	return is || was
}

type differing struct {
	kind     schema.GroupKind
	manifest map[string]any
	fields   []refused
}

func (d *differing) add(path fieldpath.Path) {
	if IsChangeable(d.kind, path) {
		return
	}
	if key, ok := path.ByKey(d.manifest); ok {
		path = key
	}
	d.fields = append(d.fields, refused{path: path, text: path.String()})
}

// omitted adds the live fields at or below the path that an earlier apply set and the manifest no
// longer contains.
func (d *differing) omitted(in *Prediction, below fieldpath.Path) {
	entries, err := managedfields.Entries(in.Live)
	if err != nil {
		return
	}
	manager := in.Adoption.Manager()
	for _, e := range entries {
		if !e.Is(manager) && !slices.ContainsFunc(in.Adoption.Adopted, e.Equal) {
			continue
		}
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) {
			if !p.HasPrefix(below) || managedfields.IsLastApplied(p) {
				return
			}
			value, was := p.Get(in.Live.Object)
			if _, is := p.Get(in.Body.Object); is || !was || IsChangeable(d.kind, p) {
				return
			}
			text := "no longer in the manifest"
			if !fieldpath.IsContainer(value) && !redact.IsSecret(in.Item.Ref) {
				text = fmt.Sprint(value) + ", " + text
			}
			d.fields = append(d.fields, refused{path: p.Clone(), text: p.String() + " (" + text + ")"})
		})
	}
}

func (d *differing) walk(path fieldpath.Path, declared, live any) {
	switch v := declared.(type) {
	case map[string]any:
		name := path[len(path)-1].FieldName
		isWhole := name != nil && (*name == "selector" || *name == "roleRef") // The server compares it as one value.
		if l, ok := live.(map[string]any); ok && !isWhole {
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
	if !within(declared, live) && !sameText(declared, live) {
		d.add(path)
	}
}

func valuesAt(in *Prediction, field string) (path fieldpath.Path, declared, live any, ok bool) {
	path, err := fieldpath.ParsePath("." + field)
	if err != nil {
		return nil, nil, nil, false
	}
	if key, ok := path.ByKey(in.Body.Object); ok {
		path = key
	}
	declared, is := path.Get(in.Body.Object)
	if one, isList := strings.CutSuffix(strings.TrimSuffix(field, "[0]"), "s"); !is && isList {
		return valuesAt(in, one) // The server may name clusterIPs[0] when the manifest sets clusterIP.
	}
	live, was := path.Get(in.Live.Object)
	return path, declared, live, is && was
}

// isImmutable reports whether the words of a cause say that a field is immutable. The API has no
// cause type for this. For built-in kinds, the server either forbids the changed value, or calls the
// value invalid with one of two fixed messages. Other words are recognized by their effect; see
// asNew.
func isImmutable(in *Prediction, cause metav1.StatusCause) bool {
	if cause.Type == metav1.CauseTypeForbidden {
		path, declared, live, ok := valuesAt(in, cause.Field)
		return ok && !within(declared, live) && !IsChangeable(in.Item.GVK.GroupKind(), path)
	}
	const (
		immutable = "is immutable"            // built-in kinds say "field is immutable"; rules of CRDs say something similar
		setOnce   = "may not change once set" // the addresses of a service
	)
	return cause.Type == metav1.CauseTypeFieldValueInvalid &&
		(strings.HasSuffix(cause.Message, immutable) || strings.HasSuffix(cause.Message, setOnce))
}

func within(declared, live any) bool {
	switch stated := declared.(type) {
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
