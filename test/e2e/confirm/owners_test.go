package confirm_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// ownersOf has the owners of each field of an object, as "manager operation".
type ownersOf map[string]map[string]bool

const us = "k8sconnect Apply"

func otherOwners() []string { return []string{"helm Apply", "hotfix Update", "k8sconnect Update"} }

// The manifest sets these fields, and no longer the field "left".
func ownedFields() []string { return []string{"k0", "k1", "k2", "k3"} }

func randomOwners(random *rand.Rand) ownersOf {
	all := ownersOf{}
	for _, field := range append(ownedFields(), "left") {
		all[field] = map[string]bool{}
		for _, owner := range append(otherOwners(), us) {
			all[field][owner] = random.IntN(3) == 0
		}
	}
	all["k1"][us] = false // Something is left to do in each state.
	return all
}

// write stores an object with these owners. It makes the object again if anew is set.
func (o ownersOf) write(t *testing.T, set small, anew bool) {
	t.Helper()
	fields := map[string]map[string]any{"keeper Update": {"f:keep": map[string]any{}}}
	data := map[string]any{"keep": "1"}
	for field, owners := range o {
		data[field] = "1"
		for owner, owns := range owners {
			if fields[owner] == nil && owns {
				fields[owner] = map[string]any{}
			}
			if owns {
				fields[owner]["f:"+field] = map[string]any{}
			}
		}
	}
	var entries []any
	for _, owner := range slices.Sorted(maps.Keys(fields)) {
		manager, operation, _ := strings.Cut(owner, " ")
		entries = append(entries, map[string]any{
			"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": fields[owner]},
		})
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "o", "managedFields": entries}, "data": data,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := e2etest.File(t, string(text))
	if anew { // The first request would own the values that it writes.
		e2etest.Kubectl(t, set.c, "delete", "configmap/o", "-n", set.ns, "--ignore-not-found")
		e2etest.Kubectl(t, set.c, "create", "-n", set.ns, "-f", file)
	}
	e2etest.Kubectl(t, set.c, "replace", "-n", set.ns, "-f", file)
	if got := e2etest.Kubectl(t, set.c, "get", "configmap/o", "-n", set.ns, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}"); len(strings.Fields(got)) != len(entries) {
		t.Fatalf("the managers are %s, want %d", got, len(entries))
	}
}

// matters reports whether the apply changes other owners than before, if this owner of the field has
// come or gone. A field that is ours before, and keeps its value, keeps its owners.
func (o ownersOf) matters(field, owner string, changed bool) bool {
	switch {
	case owner == us, field == "k0" && changed:
		return true
	case field == "left":
		return o[field][us]
	}
	return !o[field][us]
}

// A plan covers each field whose owners the apply changes, the other owners, and the object's UID. If
// one of them is otherwise at the time of the apply, nothing is written, although all values are as
// reviewed. If the owners of a field differ, but the apply does not change them, the plan holds.
func TestConfirmBindsOwners(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	refused, accepted := 0, 0
	for i := range circle.Of(10, 150, 1_500) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			set := small{c: c, ns: e2etest.Namespace(t, c)}
			changed := random.IntN(2) == 0
			value := map[bool]string{true: "2", false: "1"}[changed]
			set.args = []string{"-n", set.ns, "--take=all", "-f", e2etest.File(t,
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, data: {k0: "`+value+`", k1: "1", k2: "1", k3: "1"}}`)}
			owners := randomOwners(random)
			owners.write(t, set, true)
			set.plan = e2etest.Confirmable(t, c, set.args...)

			field, owner := append(ownedFields(), "left", "the UID")[random.IntN(6)], append(otherOwners(), us)[random.IntN(4)]
			if field == "k1" && owner == us {
				field = "k2"
			}
			different := true
			if field == "the UID" {
				owners.write(t, set, true)
			} else {
				different = owners.matters(field, owner, changed)
				owners[field][owner] = !owners[field][owner]
				owners.write(t, set, false)
			}
			t.Logf("%s %s: different %v", field, owner, different)
			confirm := set.plan
			byFile := random.IntN(2) == 0
			if !byFile {
				confirm = digestOf(t, set.plan)
			}
			state := func() string {
				return e2etest.Kubectl(t, c, "get", "configmap/o", "-n", set.ns, "-o", "jsonpath={.metadata.resourceVersion} {.data.k0}")
			}
			was := state()
			r := e2etest.Plugin(t, c.KubeconfigPath, set.confirm(confirm)...)
			if !different {
				accepted++
				if r.Ends(t, 0); !strings.HasSuffix(state(), " "+value) {
					t.Errorf("the data is %s: %s", state(), r)
				}
				return
			}
			refused++
			r.Ends(t, 1).Says(t, "nothing was written")
			if now := state(); now != was {
				t.Errorf("the refused run wrote: %s, was %s: %s", now, was, r)
			}
			switch {
			case !byFile:
			case field == "the UID":
				r.Says(t, "now another object of that name")
			default:
				r.Says(t, "configmap/o -n "+set.ns+"  .data."+field+"\n")
			}
		})
	}
	t.Logf("%d refused, %d accepted", refused, accepted)
}

func digestOf(t *testing.T, plan string) string {
	t.Helper()
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Digest string }
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document.Digest
}
