package releases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// attempted is a chart before and after a revision that failed halfway, and that revision.
type attempted struct {
	thread                string
	before, failed, after string
	// left are the fields that a client-side upgrade leaves as the failed revision set them.
	left []string
}

// broken is an object that the failed revision cannot change, because its selector is immutable.
func broken(version string) string {
	return strings.ReplaceAll(with(workload, "VERSION", version), "{name: web}", "{name: broken}")
}

func attempts() map[string]attempted {
	const (
		sidecar = `containers: [{name: extra, image: "registry.example/extra:1"}, `
		gear    = "\n---\napiVersion: forecast.example.com/v1\nkind: Gear\nmetadata: {name: web}\nspec: {SPEC}\n"
	)
	note, pods, secret := with(note), with(workload), "---\n"+with(secret)
	spec := func(text string) string { return strings.Replace(gear, "SPEC", text, 1) }
	replace := func(in, old, by string) string { return strings.Replace(in, old, by, 1) }
	const container = `.spec.template.spec.containers[name="extra"]`
	return map[string]attempted{
		"a container": {
			thread: "https://github.com/helm/helm/issues/13346",
			before: pods, failed: replace(pods, "containers: [", sidecar), after: pods, left: []string{container},
		},
		"a command": {
			thread: "https://github.com/helm/helm/issues/10363",
			before: pods, failed: replace(pods, "env:", "command: [none], env:"), after: pods, left: []string{`.spec.template.spec.containers[name="web"].command`},
		},
		"a key": {
			thread: "https://github.com/helm/helm/pull/3097",
			before: note, failed: replace(note, "{mode: a}", "{mode: a, more: b}"), after: note, left: []string{".data.more"},
		},
		"a value, which the patch corrects":       {before: note, failed: replace(note, "{mode: a}", "{mode: b}"), after: note},
		"a key that the next chart has":           {before: note, failed: replace(note, "{mode: a}", "{mode: a, more: b}"), after: replace(note, "{mode: a}", "{mode: a, more: c}")},
		"a key, beside another change":            {before: note, failed: replace(note, "{mode: a}", "{mode: a, more: b}"), after: replace(note, "{mode: a}", "{mode: b}"), left: []string{".data.more"}},
		"a label":                                 {before: pods, failed: replace(pods, "{name: web}", "{name: web, labels: {a: b}}"), after: pods, left: []string{".metadata.labels.a"}},
		"a variable":                              {before: pods, failed: replace(pods, "env: []", "env: [{name: A, value: b}]"), after: pods, left: []string{`.spec.template.spec.containers[name="web"].env[name="A"]`}},
		"a key of a Secret":                       {before: secret, failed: replace(secret, "{tls.crt", "{more: YQ==, tls.crt"), after: secret, left: []string{".data.more"}},
		"a field of a custom resource":            {before: spec("size: 1"), failed: spec("size: 1, colour: red"), after: spec("size: 1"), left: []string{".spec.colour"}},
		"a value of a custom resource":            {before: spec("size: 1"), failed: spec("size: 3"), after: spec("size: 1"), left: []string{".spec.size"}},
		"a value that the next chart changes too": {before: spec("size: 1"), failed: spec("size: 3"), after: spec("size: 2")},
		"a list of a custom resource":             {before: spec("teeth: [1]"), failed: spec("teeth: [1, 2]"), after: spec("teeth: [1]"), left: []string{".spec.teeth"}},
		"an item of a custom resource":            {before: spec("parts: [{name: a}]"), failed: spec("parts: [{name: a}, {name: b, count: 2}]"), after: spec("parts: [{name: a}]"), left: []string{`.spec.parts[name="b"]`}},
	}
}

// A client-side upgrade leaves fields that only a failed revision set as they are. The forecast names exactly these,
// and whether a server-side upgrade removes them. The oracle is an installation of the same chart in a namespace
// without a history.
func TestFieldsOfFailedRevisions(t *testing.T) {
	setup := newSite(t, "leftovers")
	setup.apply(t, gvr("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "setup", gearDefinition)
	setup.eventually(t, "gears are served", func() bool {
		_, err := setup.of(gvr("forecast.example.com", "v1", "gears")).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	methods := [][]string{ // of the installation, the failed revision and the next one
		{"--server-side=false", "--server-side=false", "--server-side=auto"},
		{"--server-side=false", "--server-side=false", "--server-side=true"},
		{"--server-side=true", "--server-side=false", "--server-side=auto"},
		{"--server-side=true", "--server-side=false", "--server-side=true"},
		{"--server-side=true", "--server-side=true", "--server-side=auto"},
		{"--server-side=false", "--server-side=false", "rollback"},
	}
	i, all := 0, attempts()
	for n, name := range slices.Sorted(maps.Keys(all)) {
		of := all[name]
		for at, method := range methods {
			if i++; at != n%len(methods) && circle.Of(true, false, false) {
				continue
			}
			namespace := fmt.Sprintf("leftovers-%d", i)
			t.Run(name+" "+strings.Join(method, ", then "), func(t *testing.T) {
				t.Parallel()
				newSite(t, namespace).leaves(t, of, method)
			})
		}
	}
}

func (s *site) leaves(t *testing.T, of attempted, method []string) {
	chart := func(text, version string) string { return folder(t, text+"---"+broken(version)) }
	s.helm.Run(t, "install", "web", chart(of.before, "1"), "-n", s.namespace, method[0])
	if _, err := s.helm.Try(t.Context(), "upgrade", "web", chart(of.failed, "2"), "-n", s.namespace, method[1]); err == nil {
		t.Fatal("the revision does not fail")
	}
	clean := newSite(t, s.namespace+"-clean")
	clean.helm.Run(t, "install", "web", chart(of.after, "1"), "-n", clean.namespace, method[0])

	next := chart(of.after, "1")
	_, all, text := s.forecasts(t, "web", s.output(t, next))
	f := all[0]
	want := of.left
	if f.ServerSide {
		want = nil
	}
	var got []string
	stays := false
	for _, l := range f.Leftovers {
		if got, stays = append(got, l.Paths...), stays || l.Stays; l.Revision != 2 || l.Listed {
			t.Errorf("%+v", l)
		}
	}
	if len(f.Overwrites)+len(f.Removes) > 0 {
		t.Errorf("no other owner has written:\n%s", text)
	}
	if slices.Sort(got); !slices.Equal(got, want) || f.Forecast != "ready" {
		t.Errorf("%s\nforecast %s, leftovers %q, want %q\n%s", of.thread, f.Forecast, got, want, text)
	}
	if _, all, text := s.forecasts(t, "web"); !f.ServerSide && of.failed != of.before {
		listed := 0
		for _, l := range all[0].Leftovers {
			if !l.Listed {
				t.Errorf("the failed manifest sets %q:\n%s", l.Paths, text)
			}
			listed += len(l.Paths)
		}
		if added := len(want) > 0 && !strings.Contains(strings.Join(want, ""), ".spec.size") && !strings.Contains(want[0], ".spec.teeth"); added && listed != len(want) {
			t.Errorf("%d fields are listed before the chart is reverted, want %q:\n%s", listed, want, text)
		}
	}
	if method[2] == "rollback" { // It compares with the failed revision, so it removes the fields.
		if of.before == of.after {
			s.helm.Run(t, "rollback", "web", "1", "-n", s.namespace)
			s.differ(t, clean, false)
		}
		return
	}
	_, err := s.helm.Try(t.Context(), "upgrade", "web", next, "-n", s.namespace, method[2])
	if server := method[2] == "--server-side=true"; server && stays {
		want = of.left
	} else if server {
		want = nil
	}
	switch {
	case err == nil:
		s.differ(t, clean, len(want) > 0)
	case method[2] == "--server-side=auto" || len(flat(f.Conflicts)) == 0:
		t.Errorf("the upgrade: %v\n%s", err, text)
	}
}

// differ checks whether the object differs from that of an installation without a history.
func (s *site) differ(t *testing.T, clean *site, want bool) {
	t.Helper()
	mine, theirs := s.live(t), clean.live(t)
	for name, u := range mine {
		if !strings.HasSuffix(name, " web") {
			continue
		}
		a, b := content(u), content(theirs[name])
		if differs := a != b; differs != want {
			t.Errorf("after the upgrade, %s differs from the chart: %t, want %t\n%s\n%s", name, differs, want, a, b)
		}
	}
}

// content returns the part of an object that a chart can set.
func content(u *unstructured.Unstructured) string {
	labels := u.GetLabels()
	return asJSON([]any{labels, u.Object["spec"], u.Object["data"]})
}
