package applyset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// thing returns a member of the set prod/shop from KIND[.GROUP]/NAME, in prod if the kind is
// namespaced.
func thing(name string, change ...func(*unstructured.Unstructured)) Member {
	typ, name, _ := strings.Cut(name, "/")
	gk := schema.ParseGroupKind(typ)
	kind := object.Kind{GVK: gk.WithVersion("v1"), Resource: strings.ToLower(gk.Kind) + "s", Namespaced: true}
	if gk.Kind == "Namespace" || gk.Kind == "CustomResourceDefinition" || gk.Kind == "Cluster" {
		kind.Namespaced = false
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind.GVK)
	u.SetName(name)
	if kind.Namespaced {
		u.SetNamespace("prod")
	}
	u.SetLabels(map[string]string{PartOfLabel: ID(secretRef("prod", "shop"))})
	for _, c := range change {
		c(u)
	}
	if u.GetUID() == "" {
		u.SetUID(types.UID(object.RefOf(u).String()))
	}
	return MemberOf(kind, u)
}

func noted(key, value string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{key: value}) }
}

func in(namespace string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) { u.SetNamespace(namespace) }
}

func labelled(key, value string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		labels := u.GetLabels()
		labels[key] = value
		u.SetLabels(labels)
	}
}

func ownedBy(apiVersion, kind, name string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name}})
	}
}

// labelledBy sets the manager that owns the set's label in managed fields.
func labelledBy(manager, operation string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		label := map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + PartOfLabel: map[string]any{}}}}
		_ = unstructured.SetNestedSlice(u.Object, []any{
			map[string]any{"manager": "operator", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{}}},
			map[string]any{"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": label},
		}, "metadata", "managedFields")
	}
}

func inputs(members ...Member) []Input {
	var all []Input
	for _, m := range members {
		all = append(all, Input{m.Ref, m.Kind.Resource})
	}
	return all
}

func TestDecide(t *testing.T) {
	crd := "CustomResourceDefinition.apiextensions.k8s.io"
	other := func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{PartOfLabel: ID(secretRef("prod", "other"))})
	}
	newer := thing("Job.batch/a")
	newer.Ref.GVK.Version = "v2"
	for name, tt := range map[string]struct {
		members []Member
		input   []Input
		allow   []string
		doomed  string
		kept    string
		stay    int
		manager string
	}{
		"object that left the input": {
			members: []Member{thing("ConfigMap/a"), thing("ConfigMap/b")}, input: inputs(thing("ConfigMap/b")),
			doomed: "configmap/a", stay: 1,
		},
		"another version is the same object": {members: []Member{thing("Job.batch/a")}, input: inputs(newer), stay: 1},
		"the same object in two groups": {
			members: []Member{
				thing("Event/a", func(u *unstructured.Unstructured) { u.SetUID("1") }),
				thing("Event.events.k8s.io/a", func(u *unstructured.Unstructured) { u.SetUID("1") }),
			},
			input: inputs(thing("Event.events.k8s.io/a")), stay: 1,
		},
		"the same name elsewhere": {
			members: []Member{thing("ConfigMap/a"), thing("ConfigMap/a", in("dev"))}, input: inputs(thing("ConfigMap/a")),
			doomed: "configmap/a -n dev", stay: 1,
		},
		"of another set": {members: []Member{thing("ConfigMap/a", other)}},
		"disabled": {
			members: []Member{
				thing("ConfigMap/a", noted(PruneAnnotation, "disabled")), thing("ConfigMap/b", noted("helm.sh/resource-policy", "keep")),
				thing("ConfigMap/c", noted("argocd.argoproj.io/sync-options", "Validate=false, Prune=false")),
				thing("ConfigMap/d", noted(PruneAnnotation, "enabled")),
			},
			doomed: "configmap/d", kept: "configmap/a disabled, configmap/b disabled, configmap/c disabled",
		},
		"claimed": {
			members: []Member{thing("ConfigMap/a", noted("meta.helm.sh/release-name", "web"))}, kept: "configmap/a claimed",
		},
		"protected": {
			members: []Member{thing(crd + "/as.x.io"), thing("Namespace/dev"), thing("PersistentVolumeClaim/a")},
			kept:    "namespace/dev not-allowed, persistentvolumeclaim/a not-allowed, customresourcedefinition.apiextensions.k8s.io/as.x.io not-allowed",
		},
		"protected, and allowed": {
			members: []Member{thing(crd + "/as.x.io"), thing("Namespace/dev"), thing("PersistentVolumeClaim/a")},
			allow:   []string{"pvc", "crd", "ns"},
			doomed:  "namespace/dev, persistentvolumeclaim/a, customresourcedefinition.apiextensions.k8s.io/as.x.io",
		},
		"protected, and another kind allowed": {
			members: []Member{thing(crd + "/as.x.io"), thing("Namespace/dev"), thing("PersistentVolumeClaim/a")},
			allow:   []string{"pvc"},
			doomed:  "persistentvolumeclaim/a",
			kept:    "namespace/dev not-allowed, customresourcedefinition.apiextensions.k8s.io/as.x.io not-allowed",
		},
		"a namespace that holds the input": {
			members: []Member{thing("Namespace/dev"), thing("Namespace/stage"), thing("ConfigMap/a", in("dev"))},
			input:   inputs(thing("ConfigMap/a", in("dev"))), allow: []string{"ns"},
			doomed: "namespace/stage", kept: "namespace/dev holds", stay: 1,
		},
		"a namespace that holds a kept object": {
			members: []Member{thing("Namespace/dev"), thing("ConfigMap/a", in("dev"), noted(PruneAnnotation, "disabled"))}, allow: []string{"ns"},
			kept: "configmap/a disabled, namespace/dev holds",
		},
		"applied, and owned by an object": {
			members: []Member{
				thing("ConfigMap/a", ownedBy("x.io/v1", "Db", "db"), labelledBy("k8sconnect", "Apply")),
				thing("ConfigMap/b", ownedBy("x.io/v1", "Db", "db"), labelledBy("deployer", "Apply")),
				thing("ConfigMap/c", ownedBy("x.io/v1", "Db", "db"), labelledBy("kubectl", "Apply")),
				thing("ConfigMap/d", ownedBy("x.io/v1", "Db", "db"), labelledBy("kubectl-client-side-apply", "Update")),
				thing("ConfigMap/e", ownedBy("x.io/v1", "Db", "db"), labelledBy("operator", "Update")),
				thing("ConfigMap/f", ownedBy("x.io/v1", "Db", "db"), labelledBy("operator", "Apply")),
			},
			manager: "deployer",
			doomed:  "configmap/a, configmap/b, configmap/c, configmap/d", kept: "configmap/e copied, configmap/f copied",
		},
		"a namespace that holds copies": {members: []Member{thing("Namespace/dev"), thing("Pod/a", in("dev"), ownedBy("x.io/v1", "Db", "db"))}, allow: []string{"ns"}, doomed: "namespace/dev", kept: "pod/a copied"},
		"the namespace of the parent":   {members: []Member{thing("Namespace/prod")}, allow: []string{"ns"}, kept: "namespace/prod holds"},
		"a definition whose kind is in the input": {
			members: []Member{thing(crd + "/as.x.io"), thing(crd + "/bs.x.io"), thing("A.x.io/a")}, input: inputs(thing("A.x.io/a")), allow: []string{"crd"},
			doomed: "customresourcedefinition.apiextensions.k8s.io/bs.x.io", kept: "customresourcedefinition.apiextensions.k8s.io/as.x.io holds", stay: 1,
		},
		"objects with copied labels": {
			members: []Member{
				thing("Service/a"),
				thing("Endpoints/a", labelled("endpoints.kubernetes.io/managed-by", "endpoint-controller")),
				thing("EndpointSlice.discovery.k8s.io/a-x", ownedBy("v1", "Service", "a")),
				thing("Endpoints/b"),
				thing("ConfigMap/ours", ownedBy("v1", "Secret", "shop")),
			},
			input:  inputs(thing("Service/a")),
			doomed: "configmap/ours, endpoints/b", kept: "endpoints/a copied, endpointslice.discovery.k8s.io/a-x copied", stay: 1,
		},
	} {
		set := Set{Parent: secretRef("prod", "shop"), Input: tt.input, Manager: tt.manager}
		for _, text := range tt.allow {
			gk, err := ParseAllow(text)
			if err != nil {
				t.Fatal(err)
			}
			set.Allow = append(set.Allow, gk)
		}
		d := Decide(set, tt.members)
		var doomed, kept []string
		for _, m := range d.Doomed {
			doomed = append(doomed, strings.TrimSuffix(m.Ref.String(), " -n prod"))
		}
		for _, k := range d.Kept {
			ref := k.Ref
			ref.Namespace = ""
			kept = append(kept, ref.String()+" "+string(k.Reason))
			if k.Text() == "" || !covers(d.Left(), k.Ref) {
				t.Errorf("%s: %s has no text or is not in Left()", name, k.Ref)
			}
		}
		if diff := cmp.Diff([]string{tt.doomed, tt.kept}, []string{strings.Join(doomed, ", "), strings.Join(kept, ", ")}); diff != "" {
			t.Errorf("%s: doomed, kept (-want +got):\n%s", name, diff)
		}
		if d.Stay != tt.stay {
			t.Errorf("%s: %d stay, want %d", name, d.Stay, tt.stay)
		}
	}
}

func many(n int) []Member {
	var all []Member
	for i := range n {
		all = append(all, thing(fmt.Sprintf("ConfigMap/c%d", i)))
	}
	return all
}

// A prune needs confirmation only if it is likely to be a mistake.
func TestDoubt(t *testing.T) {
	set := func(input []Member) Set { return Set{Parent: secretRef("prod", "shop"), Input: inputs(input...)} }
	elsewhere := []Member{thing("Secret/x")}
	for name, tt := range map[string]struct {
		input, members []Member
		want           string
	}{
		"an empty input":                        {nil, many(3), "the input is empty"},
		"an empty input, and an empty set":      {nil, nil, ""},
		"nothing in common":                     {elsewhere, many(3), "no object of the set is in the input, and 3 of 3 objects would be deleted"},
		"nothing in common with an empty set":   {elsewhere, nil, ""},
		"half":                                  {many(4)[:2], many(4), ""},
		"more than half":                        {many(5)[:2], many(5), "more than half of the set would be deleted: 3 of 5 objects"},
		"copies do not make the set larger":     {many(5)[:2], append(many(5), thing("Pod/a", ownedBy("x.io/v1", "Db", "db"))), "more than half"},
		"kept objects count as part of the set": {many(5)[:2], append(many(5), thing("Pod/a", noted(PruneAnnotation, "disabled"))), ""},
		"nothing leaves":                        {many(5), many(5), ""},
		"kept objects do not count as deleted":  {nil, []Member{thing("Pod/a", noted(PruneAnnotation, "disabled"))}, ""},
	} {
		got := Decide(set(tt.input), tt.members).Doubt()
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWithin(t *testing.T) {
	set := Set{Parent: secretRef("prod", "shop")}
	shown := Decide(set, many(2))
	now := Decide(set, many(3)).Within(shown)
	if len(now.Doomed) != 2 || len(now.Kept) != 1 || now.Kept[0].Reason != Unshown {
		t.Errorf("%v", now)
	}
	if gone := Decide(set, many(1)).Within(shown); len(gone.Doomed) != 1 || len(gone.Kept) != 0 {
		t.Errorf("%v", gone)
	}
	again := many(2)
	again[1].UID = "another"
	if anew := Decide(set, again).Within(shown); len(anew.Doomed) != 1 || len(anew.Kept) != 1 || anew.Kept[0].Reason != Unshown {
		t.Errorf("an object that was made again: %v", anew)
	}
}

// A namespace is not deleted with a member that was not shown.
func TestWithinKeepsHolders(t *testing.T) {
	set := Set{Parent: secretRef("prod", "shop"), Allow: Protected()}
	members := []Member{thing("Namespace/n"), thing("ConfigMap/a", in("n"))}
	shown := Decide(set, members)
	if len(shown.Doomed) != 2 {
		t.Fatalf("%v", shown)
	}
	now := Decide(set, append(members, thing("ConfigMap/b", in("n")))).Within(shown)
	if len(now.Doomed) != 1 || now.Doomed[0].Ref.Name != "a" || len(now.Kept) != 2 {
		t.Errorf("%v", now)
	}
}

// random returns a member of one of three sets, with marks that may keep it.
func random(rng *rand.Rand) Member {
	typ := []string{"ConfigMap", "Deployment.apps", "Namespace", "PersistentVolumeClaim", "A.x.io", "CustomResourceDefinition.apiextensions.k8s.io"}[rng.IntN(6)]
	name := fmt.Sprintf("%s/n%d", typ, rng.IntN(4))
	if strings.HasPrefix(typ, "Custom") {
		name = typ + "/" + []string{"as.x.io", "bs.x.io"}[rng.IntN(2)]
	}
	return thing(name, func(u *unstructured.Unstructured) {
		if u.GetNamespace() != "" {
			u.SetNamespace(fmt.Sprintf("n%d", rng.IntN(4)))
		}
		switch rng.IntN(10) {
		case 0:
			u.SetLabels(map[string]string{PartOfLabel: ID(secretRef("prod", "other"))})
		case 1:
			u.SetLabels(nil)
		case 2:
			u.SetAnnotations(map[string]string{PruneAnnotation: "disabled"})
		case 3:
			u.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "x"})
		case 4:
			ownedBy("x.io/v1", "A", "a")(u)
		}
	})
}

// In random sets, no object in the input, in another set or claimed by another tool is doomed. No
// object that stays is deleted together with a doomed object. Each member is counted once.
func TestDecideIsSafe(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 37))
	doomed := 0
	for range 5000 {
		found := map[object.Key]Member{}
		for range rng.IntN(20) {
			m := random(rng)
			found[m.Ref.Key()] = m
		}
		set := Set{Parent: secretRef("n0", "shop")}
		id := ID(set.Parent)
		var members []Member
		wanted := map[object.Key]bool{}
		for key, m := range found {
			if m.labels[PartOfLabel] == ID(secretRef("prod", "shop")) {
				m.labels = map[string]string{PartOfLabel: id}
				found[key] = m
			}
			members = append(members, m)
			if rng.IntN(2) == 0 {
				set.Input = append(set.Input, Input{m.Ref, m.Kind.Resource})
				wanted[key] = true
			}
		}
		for _, gk := range Protected() {
			if rng.IntN(2) == 0 {
				set.Allow = append(set.Allow, gk)
			}
		}
		d := Decide(set, members)
		for _, m := range d.Doomed {
			if why, again := d.Again(m, d.Kept); !again {
				t.Fatalf("%s is doomed, but Again keeps it: %s", m.Ref, why.Text())
			}
		}
		for _, k := range d.Kept {
			if why, again := d.Again(k.Member, nil); again && k.Reason != Holds || !again && why.Reason != k.Reason {
				t.Fatalf("%s is kept: %s, but Again returns %t, %s", k.Ref, k.Text(), again, why.Text())
			}
			m := k.Member
			m.labels = nil
			if why, again := d.Again(m, d.Kept); again || why.Reason != Gone {
				t.Fatalf("%s has left the set, but Again returns %t, %s", k.Ref, again, why.Text())
			}
		}
		goes := map[object.Key]bool{}
		for _, m := range d.Doomed {
			goes[m.Ref.Key()] = true
			doomed++
			if wanted[m.Ref.Key()] || m.labels[PartOfLabel] != id || len(m.annotations) > 0 || len(m.owners) > 0 {
				t.Fatalf("%s is doomed: %+v", m.Ref, m)
			}
		}
		ours := 0
		for key, m := range found {
			if m.labels[PartOfLabel] == id {
				ours++
			}
			stays := wanted[key] || m.labels[PartOfLabel] == id && !goes[key] && len(m.owners) == 0
			if stays && goes[object.Key{Kind: "Namespace", Name: key.Namespace}] {
				t.Fatalf("%v stays, and its namespace is doomed", key)
			}
			if stays && key.Kind == "A" && goes[object.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "as.x.io"}] {
				t.Fatalf("%v stays, and its definition is doomed", key)
			}
		}
		if goes[object.Key{Kind: "Namespace", Name: "n0"}] {
			t.Fatal("the parent's namespace is doomed")
		}
		if d.Stay+len(d.Doomed)+len(d.Kept) != ours {
			t.Fatalf("%d stay, %d are doomed, %d are kept: of %d", d.Stay, len(d.Doomed), len(d.Kept), ours)
		}
	}
	if doomed == 0 {
		t.Fatal("nothing was ever doomed")
	}
}

// covers reports whether the promise allows a member with this kind and namespace, by the
// specification.
func covers(p Promise, ref object.Ref) bool {
	return slices.Contains(p.Kinds, ref.GVK.GroupKind()) && (ref.Namespace == "" || slices.Contains(p.Namespaces, ref.Namespace))
}
