package admission

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// took returns a path that goes from one owner to another, each written as
// manager/operation/subresource.
func took(path, from, to string) ownership.Transition {
	p, err := fieldpath.ParsePath(path)
	if err != nil {
		panic(err)
	}
	return ownership.Transition{Path: p, Kind: ownership.Taken, Before: ownersFrom(from), After: ownersFrom(to)}
}

func ownersFrom(text string) []managedfields.Owner {
	var out []managedfields.Owner
	for one := range strings.SplitSeq(text, ",") {
		parts := append(strings.Split(one, "/"), "", "")
		out = append(out, managedfields.Owner{Manager: parts[0], Operation: parts[1], Subresource: parts[2]})
	}
	return out
}

func textsOf(warnings []warning) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.text)
	}
	return out
}

func TestOwnersWarnings(t *testing.T) {
	const object = "Deployment/prod/web"
	image := `.spec.template.spec.containers[name="application"].image`
	tests := map[string]struct {
		transitions []ownership.Transition
		want        []string
	}{
		"one": {
			[]ownership.Transition{took(".spec.replicas", "kube-controller-manager/Update/scale", "flux/Apply")},
			[]string{"Deployment/prod/web: .spec.replicas taken from kube-controller-manager (scale) by flux"},
		},
		"paths with the same owners share a line": {
			[]ownership.Transition{took(".spec.paused", "argo", "flux"), took(".spec.replicas", "argo", "flux")},
			[]string{"Deployment/prod/web: .spec.paused, .spec.replicas taken from argo by flux"},
		},
		"more paths than there is room for": {
			[]ownership.Transition{
				took(".spec.minReadySeconds", "argo", "flux"), took(".spec.paused", "argo", "flux"), took(".spec.progressDeadlineSeconds", "argo", "flux"),
				took(".spec.replicas", "argo", "flux"), took(".spec.revisionHistoryLimit", "argo", "flux"),
			},
			[]string{"Deployment/prod/web: .spec.minReadySeconds, .spec.paused, .spec.progressDeadlineSeconds, +2 more taken from argo by flux"},
		},
		"a long path is truncated at its start": {
			[]ownership.Transition{took(image, "argo/Apply", "a-manager-with-quite-a-long-name/Apply"), took(".spec.replicas", "argo/Apply", "a-manager-with-quite-a-long-name/Apply")},
			[]string{`Deployment/prod/web: ….containers[name="application"].image, +1 more taken from argo by a-manager-with-quite-a-long-name`},
		},
		"from another entry of the same manager": {
			[]ownership.Transition{
				took(".spec.replicas", "kubectl/Update/scale", "kubectl/Apply"),
				took(".spec.paused", "helm/Update", "helm/Apply"),
			},
			nil,
		},
		"from the same manager and another one": {
			[]ownership.Transition{took(".spec.paused", "argo/Apply,flux/Update", "flux/Apply")},
			[]string{"Deployment/prod/web: .spec.paused taken from argo by flux"},
		},
		"from many": {
			[]ownership.Transition{took(".spec.paused", "a,b,c,d", "flux")},
			[]string{"Deployment/prod/web: .spec.paused taken from a, b, +2 more by flux"},
		},
		"by a co-owner": {
			[]ownership.Transition{took(".spec.paused", "argo,flux", "flux")},
			[]string{"Deployment/prod/web: .spec.paused taken from argo by flux"},
		},
		"more pairs than lines": {
			[]ownership.Transition{
				took(".spec.a", "a", "z"), took(".spec.b", "b", "z"), took(".spec.c", "c", "z"), took(".spec.d", "d", "z"),
				took(".spec.e", "e", "z"), took(".spec.f", "f", "z"), took(".spec.g", "g", "z"), took(".spec.h", "g", "z"),
			},
			[]string{
				"Deployment/prod/web: .spec.a taken from a by z", "Deployment/prod/web: .spec.b taken from b by z",
				"Deployment/prod/web: .spec.c taken from c by z", "Deployment/prod/web: .spec.d taken from d by z",
				"Deployment/prod/web: .spec.e taken from e by z", "Deployment/prod/web: +3 more taken",
			},
		},
		"not taken": {
			[]ownership.Transition{{Path: fieldpath.Field("spec"), Kind: ownership.Released, Before: ownersFrom("a")}},
			nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := textsOf(bounded(ownersWarnings(object, takeovers(tt.transitions))))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, text := range got {
				if utf8.RuneCountInString(text) > lineLength {
					t.Errorf("%d characters: %s", utf8.RuneCountInString(text), text)
				}
			}
		})
	}
}

// Edge case 74: the names in a warning are untrusted. If one contained a newline, the API server
// would drop the warning.
func TestUntrustedTextInWarnings(t *testing.T) {
	evil := "flux\nWarning: all is well\x1b[2J\u202e\xff"
	got := textsOf(bounded(ownersWarnings("Thing/a/"+evil, takeovers([]ownership.Transition{took(".spec.a", evil, "z/Apply/"+evil)}))))
	if len(got) != 1 {
		t.Fatalf("%q", got)
	}
	checkLines(t, got)
	if strings.ContainsAny(got[0], "\n\x1b\u202e") || !strings.Contains(got[0], "taken from flux") {
		t.Errorf("%q", got[0])
	}
}

// All fields about which the API server also warns share one line, which names the object.
func TestFieldWarnings(t *testing.T) {
	notice := func(path string, serverWarns bool) deprecation.FieldNotice {
		return deprecation.FieldNotice{Path: path, ServerWarns: serverWarns}
	}
	for name, tt := range map[string]struct {
		notices []deprecation.FieldNotice
		want    []string
	}{
		"none": {nil, nil},
		"only warned about by us": {
			[]deprecation.FieldNotice{notice(".spec.a", false), notice(".spec.b", false)},
			[]string{"Thing/n/x: .spec.a is deprecated", "Thing/n/x: .spec.b is deprecated"},
		},
		"also warned about by the server": {
			[]deprecation.FieldNotice{notice(".spec.a", true), notice(".spec.b", false), notice(`.metadata.annotations["x.io/y"]`, true)},
			[]string{`Thing/n/x: .spec.b is deprecated; deprecated, as the API server warns: .spec.a, .metadata.annotations["x.io/y"]`},
		},
		"more fields than fit on one line": {
			[]deprecation.FieldNotice{
				notice(".spec.volumes[0].gitRepo", true), notice(".spec.volumes[1].cephfs", true), notice(".spec.volumes[2].rbd", true), notice(".spec.volumes[3].rbd", true),
			},
			[]string{"Thing/n/x: deprecated, as the API server warns: .spec.volumes[0].gitRepo, .spec.volumes[1].cephfs, +2 more"},
		},
	} {
		if diff := cmp.Diff(tt.want, textsOf(fieldWarnings("Thing/n/x", tt.notices))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Edge case 74: warnings fit into the limits, however many there are and however long the names
// are.
func TestWarningsAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 253)
	var transitions []ownership.Transition
	var fields []deprecation.FieldNotice
	for i := range 40 {
		name := fmt.Sprint(i, long)
		transitions = append(transitions, took(`.spec["`+name+`"]`, name+"//"+name, name))
		fields = append(fields, deprecation.FieldNotice{Path: "." + long, Use: long})
	}
	name := nameOf(long, metadata{Name: long, Namespace: long})
	lines := append(ownersWarnings(name, takeovers(transitions)), fieldWarnings(name, fields)...)
	got := textsOf(bounded(lines))
	checkLines(t, got)
	if last := got[len(got)-1]; last != fmt.Sprintf("+%d more warnings", len(lines)-len(got)+1) {
		t.Errorf("the last is %q", last)
	}
}

// checkLines checks that warnings meet the API server's requirements.
func checkLines(tb testing.TB, lines []string) {
	tb.Helper()
	total := 0
	for _, text := range lines {
		if _, err := net.NewWarningHeader(299, "", text); err != nil {
			tb.Errorf("%q: %v", text, err)
		}
		if len(text) > maxLine {
			tb.Errorf("%d bytes: %q", len(text), text)
		}
		total += len(text)
	}
	if total > 4096/2 {
		tb.Errorf("%d bytes in all", total)
	}
}

func TestNameOf(t *testing.T) {
	tests := map[string]struct {
		m    metadata
		want string
	}{
		"in a namespace":                       {metadata{Name: "web", Namespace: "prod"}, "Pod/prod/web"},
		"cluster-scoped":                       {metadata{Name: "web"}, "Pod/-/web"},
		"with a generated name (edge case 76)": {metadata{GenerateName: "web-", Namespace: "prod"}, "Pod/prod/web-*"},
		"made":                                 {metadata{Name: "web-1", GenerateName: "web-", Namespace: "prod"}, "Pod/prod/web-1"},
		"without a name (edge case 76)":        {metadata{}, "Pod/-/-"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nameOf("Pod", tt.m); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
