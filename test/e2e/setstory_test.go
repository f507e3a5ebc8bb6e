package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// story is the sequence of steps for a set.
type story struct {
	corpusSet
	cluster    *cluster.Cluster
	api        *server
	audit      e2etest.Audit
	kubeconfig string

	refusals map[string]int    // as corpusSet.refused
	asks     map[string]string // as corpusSet.asked
	faults   map[step][]string
}

func newStory(t *testing.T, c *cluster.Cluster, set corpusSet) *story {
	t.Helper()
	api, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.KubeconfigFor(e2etest.AuditUser, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	return &story{
		corpusSet: set, cluster: c, api: api, audit: e2etest.Audit{Cluster: c}, kubeconfig: kubeconfig,
		refusals: map[string]int{}, asks: map[string]string{}, faults: map[step][]string{},
	}
}

func (s *story) report(t *testing.T, dir string) {
	for _, ns := range s.needs {
		e2etest.Kubectl(t, s.cluster, "create", "namespace", ns)
	}
	folders := s.variants(t, s.cluster, dir)
	for i, folder := range folders {
		if i > 0 {
			// The first variant's webhooks call programs that do not run here.
			e2etest.Kubectl(t, s.cluster, "delete", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "--all")
		}
		failed := failures(t, s.call(t, "apply", folder))
		for name, n := range failed {
			s.refusals[name] += n
		}
		s.again(t, folder, failed)
		s.nothingDiffers(t, difference, folder, failed)
		if i == 0 {
			s.edit(t, folder, failed)
		}
	}
	if !maps.Equal(s.refusals, s.refused) {
		t.Errorf("refused:\n%s\nwant:\n%s", list(s.refusals), list(s.refused))
	}
	s.checkAsked(t)
	for _, folder := range slices.Backward(folders) {
		s.delete(t, folder)
	}
	for _, ns := range s.needs {
		e2etest.Kubectl(t, s.cluster, "delete", "namespace", ns)
	}
	for _, at := range []step{again, difference, found, restored, deleted} {
		s.holds(t, at, s.faults[at])
	}
}

func (s *story) call(t *testing.T, verb, folder string, more ...string) *e2etest.Run {
	t.Helper()
	args := []string{verb, "-f", folder, "-R", "-o", "json", "--skip-non-objects"}
	return e2etest.Plugin(t, s.kubeconfig, append(append(args, s.args...), more...)...)
}

// failures returns the objects that were not applied. All others have to be created or unchanged.
func failures(t *testing.T, r *e2etest.Run) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, o := range r.Report(t).Objects {
		switch o.Action {
		case "created", "unchanged", "configured":
		default:
			out[o.Kind+"/"+o.Name]++
			t.Logf("%s %s/%s/%s: %.300s", o.Action, o.Kind, o.Namespace, o.Name, o.Error.Message)
		}
	}
	return out
}

// again applies once more: everything is unchanged, and nothing was sent for it.
func (s *story) again(t *testing.T, folder string, failed map[string]int) {
	t.Helper()
	s.published(t, folder, failed)
	from := s.audit.Mark(t)
	r := s.call(t, "apply", folder)
	var faults []string
	for _, o := range r.Report(t).Objects {
		if o.Action != "unchanged" && failed[o.Kind+"/"+o.Name] == 0 {
			faults = append(faults, fmt.Sprintf("%s/%s/%s is %s: %s", o.Kind, o.Namespace, o.Name, o.Action, o.Error.Message))
		}
	}
	s.faults[again] = append(s.faults[again], faults...)
	names := map[string]bool{}
	for name := range failed {
		names[name[strings.LastIndex(name, "/")+1:]] = true
	}
	for _, sent := range s.audit.Writes(t, from) {
		if _, name, _ := strings.Cut(sent, "/"); !names[name] {
			s.asks[sent] = ""
		}
	}
}

// published waits until the server publishes the schemas of the applied kinds, a moment after it
// serves them. A client that is earlier has to ask again.
func (s *story) published(t *testing.T, folder string, failed map[string]int) {
	t.Helper()
	seen := map[schema.GroupVersionKind]bool{}
	for _, u := range s.objects(t, folder, failed) {
		gvk := u.GroupVersionKind()
		if seen[gvk] {
			continue
		}
		seen[gvk] = true
		e2etest.Until(t, "the schema of "+gvk.String()+" is published", func() bool {
			published, err := s.api.ours.Schema(t.Context(), object.Kind{GVK: gvk})
			return err == nil && published != nil
		})
	}
}

// checkAsked compares the cost of unchanged objects with the known cost.
func (s *story) checkAsked(t *testing.T) {
	t.Helper()
	for sent := range s.asks {
		if s.asked[sent] == "" {
			t.Errorf("unexpected request for an unchanged object: %s", sent)
		}
	}
	for known, reason := range s.asked {
		if _, still := s.asks[known]; !still {
			t.Errorf("%s costs no request now: remove it from the table (%s)", known, reason)
		}
	}
	if len(s.asks) > 0 {
		t.Logf("%d requests for unchanged objects", len(s.asks))
	}
}

// readsOnce holds the cost of a run over objects that did not change, all of them accepted,
// with caches that an earlier run filled. Each list and each object is read once, and nothing
// else is asked but, once each,
//
//   - how a group is served that definitions bring (a cache may remember a definition
//     that is gone, or that changed since), and
//   - of a set with custom kinds, where the schemas are (each is on
//     disk under its hash, and only the server knows which is the present one), which goes out
//     beside the reads. Of another set no schema is asked, not even with empty caches.
func (s *story) readsOnce(t *testing.T, folder string, objects []*unstructured.Unstructured) {
	t.Helper()
	caches := "--cache-dir=" + t.TempDir()
	first := s.audit.Mark(t)
	s.call(t, "diff", folder, caches)
	from := s.audit.Mark(t)
	s.call(t, "diff", folder, caches)
	custom := customKinds(objects)
	for _, uri := range s.audit.Reads(t, first) {
		if strings.HasPrefix(uri.Path, "/openapi/") && len(custom) == 0 {
			t.Errorf("every kind is built in, but the run requested %s", uri)
		}
	}
	groups, resources := map[string]bool{}, map[string]bool{}
	for _, u := range objects {
		groups["/apis/"+u.GetAPIVersion()] = true
		resources[u.GetAPIVersion()] = true
	}
	asked, beyond := map[string]int{}, []string{}
	for _, uri := range s.audit.Reads(t, from) {
		if uri.Path == "/readyz" {
			continue
		}
		what := uri.Path + " " + uri.Query().Get("fieldSelector")
		if asked[what]++; asked[what] > 1 {
			t.Errorf("%s was read %d times, want once", what, asked[what])
		}
		version := strings.TrimPrefix(strings.TrimPrefix(uri.Path, "/apis/"), "/api/")
		switch {
		case groups[uri.Path], uri.Path == "/openapi/v3" && len(custom) > 0:
			beyond = append(beyond, uri.Path)
		case slices.ContainsFunc(slices.Collect(maps.Keys(resources)), func(v string) bool { return strings.HasPrefix(version, v+"/") }):
		default:
			t.Errorf("unexpected request for unchanged objects: %s", uri)
		}
	}
	if len(asked) > len(objects)+len(beyond) {
		t.Errorf("%d requests for %d objects", len(asked), len(objects))
	}
	t.Logf("%d objects, %d requests, %d of them no reads of objects: %q", len(objects), len(asked), len(beyond), beyond)
}

// customKinds returns the kinds among the objects that are not Kubernetes' own.
func customKinds(objects []*unstructured.Unstructured) map[schema.GroupVersionKind]bool {
	out := map[schema.GroupVersionKind]bool{}
	for _, u := range objects {
		if gvk := u.GroupVersionKind(); !object.IsBuiltIn(gvk.Group) {
			out[gvk] = true
		}
	}
	return out
}

// nothingDiffers requires that diff finds no changes in applied objects.
func (s *story) nothingDiffers(t *testing.T, at step, folder string, failed map[string]int) {
	t.Helper()
	if at == difference && len(failed) == 0 {
		s.readsOnce(t, folder, s.objects(t, folder, failed))
	}
	r := s.call(t, "diff", folder)
	var faults []string
	for _, o := range r.Report(t).Objects {
		if o.Action != "unchanged" && failed[o.Kind+"/"+o.Name] == 0 {
			faults = append(faults, fmt.Sprintf("%s/%s/%s: %s: %s", o.Kind, o.Namespace, o.Name, o.Action, o.Error.Message))
		}
	}
	if len(failed) == 0 && len(faults) == 0 && r.Cmd.ProcessState.ExitCode() != 0 {
		faults = append(faults, "exit status: "+r.String())
	}
	s.faults[at] = append(s.faults[at], faults...)
}

// edit changes some objects as another client. Diff finds each change; after they are reverted,
// nothing differs.
func (s *story) edit(t *testing.T, folder string, failed map[string]int) {
	t.Helper()
	edited := s.editSome(t, s.objects(t, folder, failed))
	r := s.call(t, "diff", folder)
	actions := map[string]string{}
	for _, o := range r.Report(t).Objects {
		actions[o.Kind+"/"+o.Namespace+"/"+o.Name] = o.Action
	}
	var faults []string
	for name, path := range edited {
		if actions[name] != "configured" {
			faults = append(faults, fmt.Sprintf("%s at %s: diff says %q", name, path, actions[name]))
		}
	}
	s.faults[found] = append(s.faults[found], faults...)
	s.call(t, "apply", folder, "--take=all")
	s.nothingDiffers(t, restored, folder, failed)
}

// delete deletes the folder's objects.
func (s *story) delete(t *testing.T, folder string) {
	t.Helper()
	objects := s.objects(t, folder, nil)
	r := s.call(t, "delete", folder, "--ignore-not-found")
	var faults []string
	if r.Cmd.ProcessState.ExitCode() != 0 && len(s.stays) == 0 {
		faults = append(faults, r.String())
	}
	s.api.mapper.Reset()
	left := map[string]bool{}
	for _, u := range objects {
		name := u.GetKind() + "/" + u.GetName()
		if _, err := s.api.get(t.Context(), s.ref(u)); err == nil {
			left[name] = true
			if s.stays[name] == "" {
				faults = append(faults, name+" is still there")
			}
		}
	}
	for name, reason := range s.stays {
		if !left[name] && slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind()+"/"+u.GetName() == name }) {
			t.Errorf("%s is gone: remove it from the table (%s)", name, reason)
		}
	}
	s.faults[deleted] = append(s.faults[deleted], faults...)
}

// holds fails the test for a step's failures, unless the table expects the step to fail; then it
// fails the test if the step succeeds.
func (s *story) holds(t *testing.T, at step, faults []string) {
	t.Helper()
	reason, isOpen := s.open[at]
	switch {
	case isOpen && len(faults) == 0:
		t.Errorf("%s succeeds now: remove it from the table (%s)", at, reason)
	case isOpen:
		t.Logf("%s: open (%s): %s", at, reason, strings.Join(faults, "\n"))
	case len(faults) > 0:
		t.Errorf("%s:\n%s", at, strings.Join(faults, "\n"))
	}
}

func list(counts map[string]int) string {
	var lines []string
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("%q: %d,", name, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
