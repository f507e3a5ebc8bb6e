package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// check checks the outcome of a work: the number of objects that it wrote, and their content.
func (b *bench) check(ctx context.Context, t tool, p *plot, work string, before map[object.Ref]state) error {
	after, err := p.read(ctx)
	if err != nil {
		return err
	}
	if t.name == toolHelm && work == workDelete { // Helm never deletes definitions.
		maps.DeleteFunc(after, func(ref object.Ref, _ state) bool { return ref.GVK.Kind == definitionKind })
	}
	err = checkWritten(p.sample, work, before, after)
	if err == nil && len(after) == len(p.sample.objects) && !p.lab.controllers {
		err = b.references.check(fmt.Sprint(p.sample.title, p.now), after)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	return nil
}

// checkWritten checks that a work wrote and deleted as many objects as it should have.
func checkWritten(s sample, work string, before, after map[object.Ref]state) error {
	// If a manifest sets nothing but a name, the API server also writes the object at its second
	// apply: it drops the manager that owns nothing.
	bare := map[object.Ref]bool{}
	for item := range s.plan.Items() {
		bare[item.Ref] = len(item.Object.Object) == 3 && len(item.Object.GetLabels())+len(item.Object.GetAnnotations()) == 0
	}
	all := len(bare)
	want, left := 0, all
	switch work {
	case workCreate, workSet, workRewrite, workOutright:
		want = all
	case workChange, workConfirm:
		want = len(s.changes)
	case workStart, workDelete:
		left = 0
	case workPrune:
		left = s.kept
	}
	if len(after) != left {
		return fmt.Errorf("there are %d of %d objects, not %d", len(after), all, left)
	}
	var written []string
	for ref, is := range after {
		if was, ok := before[ref]; was.version != is.version && (!ok || !bare[ref]) {
			written = append(written, ref.String())
		}
	}
	if len(written) != want {
		slices.Sort(written)
		return fmt.Errorf("%d of %d objects were written, not %d: %.200s", len(written), all, want, fmt.Sprint(written))
	}
	return nil
}

// references are the live objects that the first tool produced, by sample. Every other tool has to
// produce the same.
type references map[string]map[object.Ref]state

func (r references) check(title string, live map[object.Ref]state) error {
	if r[title] == nil {
		r[title] = live
	}
	for ref, is := range live {
		if other := r[title][ref]; is.content != other.content {
			return fmt.Errorf("%s differs from another tool's result:\n%s\n%s", ref, is.content, other.content)
		}
	}
	return nil
}

// canonical returns an object's content as JSON, without fields that differ from run to run,
// without the API server's bookkeeping, and without the marks of sets and of Helm. It changes the
// object.
func canonical(u *unstructured.Unstructured) string {
	delete(u.Object, "status")
	for _, field := range []string{"creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	delete(labels, "app.kubernetes.io/managed-by")
	delete(labels, "applyset.kubernetes.io/part-of")
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "meta.helm.sh/") })
	if len(labels) == 0 {
		labels = nil // otherwise an empty map stays
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	if spec, ok := u.Object["spec"].(map[string]any); ok {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
		ports, _ := spec["ports"].([]any)
		for _, port := range ports {
			if port, ok := port.(map[string]any); ok {
				delete(port, "nodePort")
			}
		}
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
