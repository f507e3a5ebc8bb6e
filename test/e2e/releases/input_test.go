package releases_test

import (
	"strings"
	"testing"
)

// The output says why a release cannot be read or found, and its advice fits this verb.
func TestNamesAndBrokenReleases(t *testing.T) {
	s := newSite(t, "broken")
	s.store(t, "apart", true, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: no-such-namespace}}")
	s.store(t, "garbled", true, "kind: ConfigMap\nmetadata: [\n")
	s.apply(t, gvr("", "v1", "secrets"), "helm", `{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, stringData: {release: "%%%"},
		metadata: {name: sh.helm.release.v1.cut.v7, labels: {owner: helm, name: cut, status: deployed, version: '7'}}}`)
	for _, at := range []struct {
		name   string
		in     string
		args   []string
		status int
		want   []string
		not    []string
	}{
		{"a release as the output names it", "broken", []string{"broken/apart"}, 2, []string{"kubectl k8sconnect releases apart", "-n broken"}, []string{"could not be read"}},
		{"no name of a release", "broken", []string{"a b"}, 2, []string{`"a b" is not the NAME`}, []string{"could not be read"}},
		{"no such release", "broken", []string{"none"}, 2, []string{"broken/none not found"}, []string{"--to=", " -f "}},
		{"no such namespace", "brokn", nil, 2, []string{"namespace/brokn does not exist; did you mean broken?"}, []string{"0 releases"}},
		{"no such namespace, with a name", "brokn", []string{"apart"}, 2, []string{"namespace/brokn does not exist"}, nil},
		{
			"a revision that cannot be decoded", "broken",
			[]string{"cut"},
			2,
			[]string{"revision 7   0 objects   unknown", "helm history cut -n broken"},
			[]string{"client-side", "server-side", "--from", "revision 0"},
		},
		{"a manifest that is no YAML", "broken", []string{"garbled"}, 2, []string{"revision 1:3: not YAML"}, []string{"-:3"}},
		{"an object that the upgrade cannot create", "broken", []string{"apart"}, 1, []string{"refused", `namespaces "no-such-namespace" not found`}, []string{"creates it again"}},
	} {
		t.Run(at.name, func(t *testing.T) {
			in := *s
			in.namespace = at.in
			status, stdout, stderr := in.plugin(t, append([]string{"releases"}, at.args...)...)
			out := stdout + stderr
			if status != at.status {
				t.Errorf("status %d, want %d", status, at.status)
			}
			for _, want := range at.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, not := range at.not {
				if strings.Contains(out, not) {
					t.Errorf("contains %q", not)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
