package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// between is an event between the diff of a set and the apply that confirms it. It acts on the
// object that the reviewed manifests change, and returns whether it can.
type between struct {
	name string
	// first runs before the diff; nil means that nothing runs.
	first func(r *reviewOfSet) bool
	do    func(r *reviewOfSet) bool
}

var betweens = []between{
	{name: "nothing", do: func(*reviewOfSet) bool { return true }},
	{name: "the manifests in another order", do: func(r *reviewOfSet) bool { slices.Reverse(r.wanted); return true }},
	{name: "the manifests edited once more", do: func(r *reviewOfSet) bool { return r.edit(r.other()) }},
	{name: "a value of the changed object", do: func(r *reviewOfSet) bool { return r.hotfix(r.at) }},
	{name: "a value of another object", do: func(r *reviewOfSet) bool { return r.hotfix(r.other()) }},
	{name: "a status", do: func(r *reviewOfSet) bool {
		return r.patch(r.at, `{"status":{"conditions":[{"type":"Seen","status":"True","reason":"Seen","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, "status")
	}},
	{name: "a label in no manifest", do: func(r *reviewOfSet) bool {
		return r.patch(r.at, fmt.Sprintf(`{"metadata":{"labels":{"seen":"v%d"}}}`, r.random.Uint32()))
	}},
	{name: "an owner of the changed object", do: func(r *reviewOfSet) bool { return r.share(r.at) }},
	{name: "an owner of another object", do: func(r *reviewOfSet) bool { return r.share(r.other()) }},
	{name: "a deletion", do: func(r *reviewOfSet) bool { return r.remove(r.at) }},
	{name: "a creation", first: func(r *reviewOfSet) bool { return r.remove(r.at) }, do: func(r *reviewOfSet) bool {
		_, err := r.apply(r.t.Context(), r.base[r.at], "creator", false, false)
		return err == nil
	}},
}

// Each real set is applied, one of its manifests is edited, and the change is reviewed. Then an
// event happens, and the change is confirmed. The API server is the judge: if its dry run of an
// object has another result than before, the run is refused, names exactly that object and writes
// nothing. Otherwise it succeeds and leaves no differences. SEED selects other objects and edits.
func TestConfirmSets(t *testing.T) {
	circle.Full(t)
	t.Parallel() // uses its own cluster
	if corpus() == "" {
		t.Skip("no corpus of real manifests here; CORPUS names its folder. TestConfirm has a set of our own")
	}
	c := cluster.ForTest(t, cluster.Options{})
	api, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	api.seedFromEnv(t)
	count := map[string]*[2]int{}
	for _, b := range betweens {
		count[b.name] = &[2]int{}
	}
	for n, set := range readCorpus(t) {
		t.Run(set.name, func(t *testing.T) {
			s := newReviewedObjects(t, c, api, set)
			for i := range circle.Of(3, 3, len(betweens)) { // in turn, so that several sets get each
				b := betweens[(3*n+i)%len(betweens)]
				t.Run(b.name, func(t *testing.T) { s.confirm(t, b, count[b.name]) })
			}
		})
	}
	for name, n := range count {
		t.Logf("%s: %d confirmed, %d refused", name, n[0], n[1])
		if n[0]+n[1] == 0 {
			t.Errorf("%s: was never tried", name)
		}
	}
}

// reviewedObjects returns some objects of a set, first one of each kind. It returns a definition
// only if there is nothing else, since it would affect other objects.
type reviewedObjects struct {
	*server
	cluster *cluster.Cluster
	random  *rand.Rand
	base    []*unstructured.Unstructured
}

func newReviewedObjects(t *testing.T, c *cluster.Cluster, api *server, set manifests) *reviewedObjects {
	t.Helper()
	const most = 8
	s := &reviewedObjects{server: api, cluster: c, random: rand.New(rand.NewPCG(api.seed, uint64(len(set.objects))))}
	var first, rest, definitions []*unstructured.Unstructured
	kinds := map[string]bool{}
	installed := api.install(t, set)
	s.random.Shuffle(len(installed), func(i, j int) { installed[i], installed[j] = installed[j], installed[i] })
	for _, o := range installed {
		u := o.manifest
		switch {
		case rank(u) < 2:
			definitions = append(definitions, u)
		case kinds[u.GetKind()]:
			rest = append(rest, u)
		default:
			kinds[u.GetKind()] = true
			first = append(first, u)
		}
	}
	all := append(first, rest...)
	if len(all) < 2 {
		all = append(all, definitions...)
	}
	all = all[:min(most, len(all))]
	failed := failures(t, e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", listOf(t, all), "--take=all", "-o", "json"))
	s.base = slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return failed[u.GetKind()+"/"+u.GetName()] > 0 })
	if len(s.base) == 0 {
		t.Fatalf("none of %d objects was applied", len(installed))
	}
	t.Logf("%d of %d objects were applied", len(s.base), len(installed))
	return s
}

// listOf writes objects to a file.
func listOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	return e2etest.File(t, string(text))
}

// reviewOfSet is a reviewed change of a set.
type reviewOfSet struct {
	*reviewedObjects
	t *testing.T
	// wanted are the manifests; that of base[at] was edited.
	wanted  []*unstructured.Unstructured
	at      int
	touched map[int]bool
}

func (s *reviewedObjects) confirm(t *testing.T, b between, count *[2]int) {
	const tries = 8
	for range tries {
		r := &reviewOfSet{reviewedObjects: s, t: t, at: s.random.IntN(len(s.base)), touched: map[int]bool{}}
		r.wanted = slices.Clone(s.base)
		ok := (b.first == nil || b.first(r)) && r.edit(r.at)
		if ok {
			reviewed := r.outcomes()
			plan := e2etest.Confirmable(t, s.cluster, "-f", listOf(t, r.wanted))
			if ok = b.do(r); ok {
				r.judge(reviewed, plan, count)
			}
		}
		r.reset()
		if ok || t.Failed() {
			return
		}
	}
	t.Logf("not possible with %d objects", tries)
}

// judge applies the confirmed change.
func (r *reviewOfSet) judge(reviewed map[string]wouldBecome, plan string, count *[2]int) {
	t := r.t
	now := r.outcomes()
	altered := map[string]bool{}
	for name, is := range now {
		altered[name] = is.changes != reviewed[name].changes
	}
	run := e2etest.Plugin(t, r.cluster.KubeconfigPath, "apply", "-f", listOf(t, r.wanted), "--confirm="+plan)
	after := r.outcomes()
	refused := false
	_, refusal, _ := strings.Cut(run.Stderr.String(), "nothing was written")
	for name, differs := range altered {
		refused = refused || differs
		if named := regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(name) + `( |$)`).MatchString(refusal); named != differs {
			t.Errorf("%s: named in the refusal: %v; reviewed changes:\n%s\nchanges now:\n%s", name, named, reviewed[name].changes, now[name].changes)
		}
	}
	if !refused {
		count[0]++
		run.Ends(t, 0)
		for name, is := range after {
			if is.changes != "" {
				t.Errorf("%s: still differs after the confirmed run: %s", name, is.changes)
			}
		}
		return
	}
	count[1]++
	run.Ends(t, 1).Says(t, "nothing was written")
	for name, is := range after {
		if is.version != now[name].version {
			t.Errorf("%s was written by a refused run", name)
		}
	}
	if t.Failed() {
		t.Log(run)
	}
}

// wouldBecome is the result of a dry run for an object, and the version it was based on.
type wouldBecome struct{ changes, version string }

// outcomes returns the changes that an apply of the manifests would make, according to the API
// server.
func (r *reviewOfSet) outcomes() map[string]wouldBecome {
	out := map[string]wouldBecome{}
	for _, u := range r.wanted {
		group := u.GroupVersionKind().Group
		name := strings.TrimSuffix(strings.ToLower(u.GetKind())+"."+group, ".") + "/" + u.GetName()
		if u.GetNamespace() != "" {
			name += " -n " + u.GetNamespace()
		}
		out[name] = r.ask(u)
	}
	return out
}

func (r *reviewOfSet) ask(u *unstructured.Unstructured) wouldBecome {
	live, err := r.get(r.t.Context(), object.RefOf(u))
	if apierrors.IsNotFound(err) {
		text, _ := u.MarshalJSON()
		return wouldBecome{changes: "created: " + string(text)}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	conflict := ""
	after, err := r.apply(r.t.Context(), u, manager, false, true)
	if apierrors.IsConflict(err) {
		conflict = err.Error() + "\n"
		after, err = r.apply(r.t.Context(), u, manager, true, true)
	}
	if err != nil {
		r.t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return wouldBecome{changes: conflict + differencesBetween(live.Object, after.Object), version: live.GetResourceVersion()}
}

// differencesBetween returns the leaves that differ, without the server's bookkeeping.
func differencesBetween(before, after map[string]any) string {
	sides := map[string][2]any{}
	for side, content := range []map[string]any{before, after} {
		for _, p := range leaves(nil, "", content, nil) {
			both := sides[p.path]
			both[side] = p.value
			sides[p.path] = both
		}
	}
	var lines []string
	for path, both := range sides {
		noted := regexp.MustCompile(`^\.(status|metadata\.(managedFields|resourceVersion|generation))\b`).MatchString(path)
		if !noted && !reflect.DeepEqual(both[0], both[1]) {
			lines = append(lines, fmt.Sprintf("%s: %v, %v", path, both[0], both[1]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// edit changes a wanted manifest so that the server accepts an apply that changes the object.
func (r *reviewOfSet) edit(i int) bool {
	const tries = 10
	r.touched[i] = true
	for try := range tries {
		at := slices.IndexFunc(r.wanted, func(u *unstructured.Unstructured) bool {
			return u.GetName() == r.base[i].GetName() && u.GetKind() == r.base[i].GetKind() && u.GetNamespace() == r.base[i].GetNamespace()
		})
		u := r.wanted[at].DeepCopy()
		if try == tries-1 || rank(u) < 2 {
			_ = unstructured.SetNestedField(u.Object, fmt.Sprint(r.random.Uint32()), "metadata", "annotations", "example.com/edited")
		} else {
			change(r.random, u.Object)
		}
		if r.changes(u) {
			r.wanted[at] = u
			return true
		}
	}
	return false
}

// changes reports whether the server accepts the manifest with strict validation, and whether it
// would change the object.
func (r *reviewOfSet) changes(u *unstructured.Unstructured) bool {
	client, err := r.resource(object.RefOf(u))
	if err != nil {
		return false
	}
	text, err := u.MarshalJSON()
	if err != nil {
		return false
	}
	force := true
	after, err := client.Patch(r.t.Context(), u.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
		FieldManager: manager, Force: &force, DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return false
	}
	live, err := r.get(r.t.Context(), object.RefOf(u))
	return apierrors.IsNotFound(err) || err == nil && differencesBetween(live.Object, after.Object) != ""
}

// other returns another object than the changed one, if there is one.
func (r *reviewOfSet) other() int {
	i := (r.at + 1 + r.random.IntN(max(1, len(r.base)-1))) % len(r.base)
	r.touched[i] = true
	return i
}

// hotfix changes a value that the manifest sets.
func (r *reviewOfSet) hotfix(i int) bool {
	r.touched[i] = true
	u := r.base[i]
	if data, _, _ := unstructured.NestedStringMap(u.Object, "data"); u.GetKind() == "Secret" && len(data) > 0 {
		return r.patch(i, fmt.Sprintf(`{"data":{%q:"b3RoZXI="}}`, slices.Min(slices.Collect(maps.Keys(data)))))
	}
	_, ok := (&story{api: r.server}).editOne(r.t, u)
	return ok
}

// patch writes a part of an object as another client, and reports whether that changed the object.
func (r *reviewOfSet) patch(i int, text string, subresource ...string) bool {
	r.touched[i] = true
	ref := object.RefOf(r.base[i])
	client, err := r.resource(ref)
	if err != nil {
		return false
	}
	before, err := r.get(r.t.Context(), ref)
	if err != nil {
		return false
	}
	after, err := client.Patch(r.t.Context(), ref.Name, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: "patcher"}, subresource...)
	return err == nil && after.GetResourceVersion() != before.GetResourceVersion()
}

// share makes another manager a co-owner of the manifest's previous fields and values.
func (r *reviewOfSet) share(i int) bool {
	r.touched[i] = true
	_, err := r.apply(r.t.Context(), r.base[i], "other", false, false)
	return err == nil
}

// remove deletes an object that has no finalizers and contains no others, and reports whether it
// did.
func (r *reviewOfSet) remove(i int) bool {
	r.touched[i] = true
	u := r.base[i]
	live, err := r.get(r.t.Context(), object.RefOf(u))
	if err != nil || rank(u) < 2 || len(live.GetFinalizers()) > 0 {
		return false
	}
	client, err := r.resource(object.RefOf(u))
	now := int64(0)
	if err == nil {
		err = client.Delete(r.t.Context(), u.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now})
	}
	if err != nil {
		return false
	}
	_, err = r.get(r.t.Context(), object.RefOf(u))
	return apierrors.IsNotFound(err)
}

// reset restores the values and the only owner of changed objects.
func (r *reviewOfSet) reset() {
	r.t.Helper()
	for i := range r.touched {
		u := r.base[i]
		applied, err := r.apply(r.t.Context(), u, manager, true, false)
		if err != nil {
			r.t.Errorf("%s %s could not be reset: %v", u.GetKind(), u.GetName(), err)
			continue
		}
		ours := slices.DeleteFunc(applied.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager != manager })
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": ours}})
		if err != nil {
			r.t.Fatal(err)
		}
		r.patch(i, string(text))
	}
}
