package predict

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// A Pod has two names for its ServiceAccount. The server's own conversion copies
// serviceAccountName into serviceAccount, whatever is stated there.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec
const (
	accountName, accountAlias = "serviceAccountName", "serviceAccount"
)

// contradiction returns where a manifest states two names of a ServiceAccount that differ.
func contradiction(u *unstructured.Unstructured) (spec fieldpath.Path, name, alias string, is bool) {
	switch kind := u.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Kind: "Pod"}:
		spec = fieldpath.Field("spec")
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		spec = fieldpath.Field("spec", "template", "spec")
	default:
		spec = podSpec(kind)
	}
	if spec == nil {
		return nil, "", "", false
	}
	pod := mapAt(spec, u.Object)
	name, _ = pod[accountName].(string)
	alias, _ = pod[accountAlias].(string)
	return spec, name, alias, name != "" && alias != "" && name != alias
}

// WithoutContradiction returns a manifest as the server would read it: where it states two
// names of a ServiceAccount that differ, both are the one that counts.
func WithoutContradiction(u *unstructured.Unstructured) *unstructured.Unstructured {
	spec, name, _, is := contradiction(u)
	if !is {
		return u
	}
	out := u.DeepCopy()
	mapAt(spec, out.Object)[accountAlias] = name
	return out
}

// Contradiction describes the two names; it is empty where a manifest has no such.
func accountContradiction(u *unstructured.Unstructured) string {
	spec, name, alias, is := contradiction(u)
	if !is {
		return ""
	}
	return fmt.Sprintf("%s is %q, and the server sets it to %q: it is the deprecated name of %s, which wins; remove it",
		append(spec.Clone(), fieldpath.Field(accountAlias)...), alias, name, accountName)
}
