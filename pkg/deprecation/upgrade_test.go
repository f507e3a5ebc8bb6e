package deprecation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCheckUpgrade(t *testing.T) {
	for _, test := range []struct {
		kind, server, to, want string
		goes                   bool
	}{
		{"resource.k8s.io/v1beta1/ResourceClaim", "1.37", "1.38", "resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1", true},
		{"resource.k8s.io/v1beta1/ResourceClaim", "1.37", "1.37", "resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1", false},
		{"resource.k8s.io/v1beta1/ResourceClaim", "", "1.38", "resource.k8s.io/v1beta1 is deprecated since 1.35, removed in 1.38; use v1", true},
		{"resource.k8s.io/v1beta1/ResourceClaim", "1.33", "1.38", "resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1", true},
		{"policy/v1beta1/PodDisruptionBudget", "1.37", "1.38", "policy/v1beta1 is deprecated since 1.21, removed in 1.25; use v1", true},
		{"resource.k8s.io/v1/ResourceClaim", "1.37", "1.38", "", false},
		{"resource.k8s.io/v1beta1/ResourceClaim", "1.37", "1.34", "", false},
	} {
		part := strings.Split(test.kind, "/")
		parse := func(text string) Release {
			r, _ := ParseRelease(text)
			return r
		}
		n, goes, ok := CheckUpgrade(schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}, parse(test.server), parse(test.to))
		got := ""
		if ok {
			got = n.String()
		}
		if got != test.want || goes != test.goes {
			t.Errorf("%s from %s to %s: got %q, removed %v", test.kind, test.server, test.to, got, goes)
		}
	}
}

// The recommended version is one that both releases serve. A version that only the new release
// serves cannot be written before the upgrade.
func TestAdviceIsServedBeforeUpgrade(t *testing.T) {
	oldest, last := Known()
	all := everyRow(t)
	for server := oldest; server.Compare(last) < 0; server = server.Next() {
		for gvk := range all {
			n, _, ok := CheckUpgrade(gvk, server, server.Next())
			now, deprecated := Check(gvk, server)
			if ok && deprecated && !now.Use.Empty() && all[n.Use].Introduced.Compare(server) > 0 {
				t.Errorf("%s on %s: the advice is %s, which is served only since %s", gvk, server, n.Use, all[n.Use].Introduced)
			}
		}
	}
	if oldest != v1(33) || last.Compare(v1(37)) <= 0 {
		t.Errorf("known releases are %s to %s, want from 1.33 to after 1.37", oldest, last)
	}
}
