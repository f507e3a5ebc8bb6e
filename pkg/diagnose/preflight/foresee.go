package preflight

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// requests bounds what one run may ask. Anything beyond it is unknown, and gets no remark.
	requests = 60
	// within bounds how long that may take.
	within = 8 * time.Second
)

// Foresee returns what will not work in the set. With a nil reader it asks nothing. If ctx
// ends, it returns what is known by then.
func Foresee(ctx context.Context, reader diagnose.Reader, of Set) []event.Remarked {
	if !slices.ContainsFunc(of.Objects, func(o Object) bool { return o.Changes && Concerns(o.Ref) }) {
		return nil
	}
	s, facts := newSet(of), diagnose.NewFacts()
	if reader != nil {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		g := diagnose.Gatherer{Reader: keysOnly{reader}, Budget: requests}
		_ = g.Fill(ctx, facts, func(r *diagnose.Run) { (&view{r, s}).remarks() }) // An unknown fact gets no remark.
	}
	return (&view{diagnose.NewRun(time.Now(), facts), s}).remarks()
}

func (v *view) remarks() []event.Remarked {
	found := slices.Concat(
		v.references(), v.accounts(), v.pullSecrets(), variables(v.set), v.volumes(), v.quotas(), v.budgets(), v.services(), v.replicas(),
	)
	places := map[object.Key]int{}
	for i, o := range v.set.objects {
		places[o.Ref.Key()] = i
	}
	slices.SortStableFunc(found, func(a, b event.Remarked) int { return places[a.Ref.Key()] - places[b.Ref.Key()] })
	return found
}

// keysOnly reads Secrets without their values.
type keysOnly struct{ diagnose.Reader }

func (k keysOnly) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := k.Reader.Get(ctx, gvk, namespace, name)
	if u == nil || gvk != core("Secret") {
		return u, err
	}
	keys := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{}}}
	keys.SetGroupVersionKind(gvk)
	keys.SetNamespace(namespace)
	keys.SetName(name)
	keys.SetOwnerReferences(u.GetOwnerReferences())
	keys.SetLabels(u.GetLabels())
	noted := map[string]string{} // The last-applied configuration has the values too.
	for name := range u.GetAnnotations() {
		noted[name] = ""
	}
	keys.SetAnnotations(noted)
	for key := range keysOf(u) {
		keys.Object["data"].(map[string]any)[key] = ""
	}
	return keys, err
}
