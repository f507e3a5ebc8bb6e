package releases

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// patch asks the server, by a dry run, whether it accepts what a client-side upgrade sends. Server-side
// apply does not answer this: it refuses manifests that a patch may contain, and removes other fields. It
// returns the object after the upgrade.
func (r *reader) patch(ctx context.Context, of *release, p *piece) (*unstructured.Unstructured, error) {
	how := object.Write{Manager: of.out.Manager, DryRun: true, Validation: metav1.FieldValidationWarn}
	if p.live == nil {
		return r.server.Create(ctx, p.Kind, p.Declared, how)
	}
	base := of.base[p.Ref.Key()]
	if base == nil {
		base = p.Declared // Helm compares an object that it imports with itself.
	}
	send := r.server.Merge
	changes := mergePatch(base.Object, p.Declared.Object)
	if scheme.Scheme.Recognizes(p.Kind.GVK) {
		send = r.server.StrategicMerge
		var err error
		if changes, err = threeWayPatch(base, p.Declared, p.live); err != nil {
			return nil, err
		}
	}
	if len(changes) == 0 {
		return p.live, nil
	}
	patch := &unstructured.Unstructured{Object: changes}
	patch.SetAPIVersion(p.Declared.GetAPIVersion())
	patch.SetKind(p.Declared.GetKind())
	patch.SetName(p.Ref.Name)
	patch.SetNamespace(p.Ref.Namespace)
	return send(ctx, p.Kind, patch, how)
}

// threeWayPatch returns the patch that Helm sends for a kind whose Go type it knows (createPatch in
// helm/helm, pkg/kube/client.go).
func threeWayPatch(base, next, live *unstructured.Unstructured) (map[string]any, error) {
	typed, err := scheme.Scheme.New(next.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	var texts [3][]byte
	for i, u := range []*unstructured.Unstructured{base, next, live} {
		if texts[i], err = json.Marshal(u.Object); err != nil {
			return nil, err
		}
	}
	raw, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], meta, true)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(raw, &out)
}

// mergePatch returns the JSON merge patch between two manifests, which Helm sends for other kinds.
func mergePatch(base, next map[string]any) map[string]any {
	out := map[string]any{}
	for key := range base {
		if _, stays := next[key]; !stays {
			out[key] = nil
		}
	}
	for key, value := range next {
		was, isMap := base[key].(map[string]any)
		is, stays := value.(map[string]any)
		switch {
		case isMap && stays:
			if changes := mergePatch(was, is); len(changes) > 0 {
				out[key] = changes
			}
		case !equality.Semantic.DeepEqual(base[key], value):
			out[key] = value
		}
	}
	return out
}

func isTyped(u *unstructured.Unstructured) bool {
	gvk := u.GroupVersionKind()
	return scheme.Scheme.Recognizes(gvk) || gvk.Group == "apiextensions.k8s.io"
}
