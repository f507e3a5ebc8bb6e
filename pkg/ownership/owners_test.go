package ownership_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/heap"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

func compactOf(u *unstructured.Unstructured) ownership.Owners {
	return ownership.Compact(u.GetManagedFields())
}

// Managed fields without values lead to the same transitions as with values, except in the stories
// that expect others.
func TestBetween(t *testing.T) {
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			old, now := thing(t, "v1", tt.before, `{}`), thing(t, "v1", tt.after, `{}`)
			got, err := ownership.Between(compactOf(old), compactOf(now))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if tt.blind != nil {
				want = tt.blind
			}
			if diff := cmp.Diff(want, texts(got)); diff != "" {
				t.Errorf("transitions (-want +got):\n%s", diff)
			}
		})
	}
}

// Without values, every takeover is found, with two exceptions. Across API versions, only values
// show whether a path has the same meaning. And a takeover is missed if an entry moved to an
// applier that has since changed only its own values.
func TestBetweenFindsAllTakeovers(t *testing.T) {
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			old, now := thing(t, orV1(tt.version), tt.before, tt.spec), thing(t, orV1(tt.thenVersion), tt.after, tt.then)
			seen, err := ownershiptest.Transitions(old, now)
			if err != nil {
				t.Fatal(err)
			}
			blind, err := ownership.Between(compactOf(old), compactOf(now))
			if err != nil {
				t.Fatal(err)
			}
			for i, tr := range seen {
				whole := blind[i].Why == ownership.Migration && tr.After[0].Operation == managedfields.Apply
				if tr.Kind == ownership.Taken && !blind[i].Notable() && blind[i].Why != ownership.CrossVersion && !whole {
					t.Errorf("takeover %s is missed without values: %s", tr, blind[i])
				}
			}
		})
	}
}

// Compact owners decode to the same entries.
func TestCompactEntries(t *testing.T) {
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			u := thing(t, "v1", tt.after, `{}`)
			want, err := managedfields.Entries(u)
			if err != nil {
				t.Fatal(err)
			}
			got, err := compactOf(u).Entries()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(entryTexts(want), entryTexts(got)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnersEqual(t *testing.T) {
	entry := func(manager, fields, day string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1"}
		e.FieldsV1 = metav1.NewFieldsV1(fields)
		if day != "" {
			u := read(t, "metadata: {creationTimestamp: "+day+"T00:00:00Z}")
			stamp := u.GetCreationTimestamp()
			e.Time = &stamp
		}
		return e
	}
	base := ownership.Compact([]metav1.ManagedFieldsEntry{entry("flux", `{"f:a":{}}`, "2026-11-20")})
	tests := map[string]struct {
		other []metav1.ManagedFieldsEntry
		want  bool
	}{
		"later":         {[]metav1.ManagedFieldsEntry{entry("flux", `{"f:a":{}}`, "2026-11-21")}, true},
		"without time":  {[]metav1.ManagedFieldsEntry{entry("flux", `{"f:a":{}}`, "")}, true},
		"other manager": {[]metav1.ManagedFieldsEntry{entry("argo", `{"f:a":{}}`, "2026-11-20")}, false},
		"other fields":  {[]metav1.ManagedFieldsEntry{entry("flux", `{"f:b":{}}`, "2026-11-20")}, false},
		"nobody":        {nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := base.Equal(ownership.Compact(tt.other)); got != tt.want {
				t.Errorf("equal is %v", got)
			}
		})
	}
}

// Ten thousand Pods of a hundred Deployments share field sets. With this sharing, a hundred
// thousand objects fit into the tracker's 300 MB.
func TestCompactMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("allocates much")
	}
	const objects = 10_000
	held := make([]ownership.Owners, objects)
	before := heap.Reachable()
	for i := range held {
		container := fmt.Sprintf("app-%d", i%100)
		fields := make([]metav1.ManagedFieldsEntry, 2)
		for j, manager := range []string{"kube-controller-manager", "kubelet"} {
			fields[j] = metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1"}
			fields[j].FieldsV1 = metav1.NewFieldsV1(podFields(container, manager))
		}
		held[i] = ownership.Compact(fields)
	}
	if used := heap.Reachable() - before; used > 5<<20 {
		t.Errorf("%d objects take %d kB", objects, used>>10)
	}
	runtime.KeepAlive(held)
}

// podFields returns a field set of three kilobytes.
func podFields(container, manager string) string {
	return `{"f:` + manager + `":{"k:{\"name\":\"` + container + `\"}":{` + containerFields() + `".":{}}}}`
}

var containerFields = sync.OnceValue(func() string {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `"f:some-field-of-a-container-%02d":{},`, i)
	}
	return text.String()
})

func entryTexts(entries []managedfields.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprint(e.Owner, e.Time.UTC(), e.APIVersion, e.Fields))
	}
	return out
}
