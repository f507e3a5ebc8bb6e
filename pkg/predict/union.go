package predict

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// A union is a map in which a manifest sets one member. Defaults that the server sets for a member
// have no owner. If an apply then selects another member, both members remain in the object, and
// the server refuses it. Members that have owners are no problem: the server removes the members
// that we own, and keeps the members that others own.

type union struct {
	path fieldpath.Path
	// members maps each member to the discriminator value that selects it. Without a discriminator,
	// the manifest selects the member that it sets, and every field except the name is a member.
	discriminator string
	members       map[string]string
}

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/
func strategies(kind schema.GroupKind) []union {
	rolling := map[string]string{"rollingUpdate": "RollingUpdate"}
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return []union{{path: fieldpath.Field("spec", "strategy"), discriminator: "type", members: rolling}}
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return []union{{path: fieldpath.Field("spec", "updateStrategy"), discriminator: "type", members: rolling}}
	default:
		return nil
	}
}

func podSpec(kind schema.GroupKind) fieldpath.Path {
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Kind: "ReplicationController"}:
		return fieldpath.Field("spec", "template", "spec")
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return fieldpath.Field("spec", "jobTemplate", "spec", "template", "spec")
	default:
		return nil
	}
}

func unions(kind schema.GroupKind, manifest map[string]any) []union {
	all := strategies(kind)
	spec := podSpec(kind)
	if spec == nil {
		return all
	}
	volumes := append(slices.Clip(spec), fieldpath.Field("volumes")...)
	list, _ := volumes.Get(manifest)
	items, _ := list.([]any)
	for _, v := range items {
		volume, _ := v.(map[string]any)
		if name, ok := volume["name"].(string); ok {
			all = append(all, union{path: volumes.Item("name", name)})
		}
	}
	return all
}

// Leftovers returns the live union members that have no owner and that the manifest does not
// select. body is the part of the manifest to be applied.
func Leftovers(kind schema.GroupKind, manifest, body, live *unstructured.Unstructured) ([]fieldpath.Path, error) {
	return leftovers(kind, manifest, body, live, managedfields.Entries)
}

func leftovers(
	kind schema.GroupKind, manifest, body, live *unstructured.Unstructured, decode func(*unstructured.Unstructured) ([]managedfields.Entry, error),
) ([]fieldpath.Path, error) {
	all := unions(kind, manifest.Object)
	if len(all) == 0 {
		return nil, nil
	}
	entries, err := decode(live)
	if err != nil {
		return nil, err
	}
	var out []fieldpath.Path
	for _, u := range all {
		for _, name := range u.unintended(body.Object, live.Object) {
			member := append(slices.Clip(u.path), fieldpath.Field(name)...)
			if len(managedfields.HoldersOf(entries, member)) == 0 {
				out = append(out, member)
			}
		}
	}
	return out, nil
}

func (u union) unintended(body, live map[string]any) []string {
	declared, there := mapAt(u.path, body), mapAt(u.path, live)
	intended, _ := declared[u.discriminator].(string) // The server reads "" as not set.
	var names []string
	for _, name := range slices.Sorted(maps.Keys(there)) {
		_, isDeclared := declared[name]
		by, isMember := u.members[name]
		switch {
		case isDeclared:
		case u.discriminator != "" && intended != "" && isMember && by != intended:
			names = append(names, name)
		case u.discriminator == "" && name != "name" && len(declared) > 1:
			names = append(names, name)
		}
	}
	return names
}

func mapAt(p fieldpath.Path, object map[string]any) map[string]any {
	v, _ := p.Get(object)
	m, _ := v.(map[string]any)
	return m
}
