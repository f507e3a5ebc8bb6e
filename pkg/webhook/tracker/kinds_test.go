package tracker

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

func kindsOf() map[string]string {
	return map[string]string{
		"pods": "Pod", "secrets": "Secret", "deployments": "Deployment", "events": "Event", "endpoints": "Endpoints",
		"leases": "Lease", "endpointslices": "EndpointSlice", "ownershiprecords": "OwnershipRecord",
		"subjectaccessreviews": "SubjectAccessReview",
	}
}

func resources(groupVersion string, names ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: kindsOf()[name], Verbs: metav1.Verbs{"get", "list", "watch"}})
	}
	return list
}

func TestSelectKinds(t *testing.T) {
	reviews := resources("authorization.k8s.io/v1", "subjectaccessreviews")
	reviews.APIResources[0].Verbs = metav1.Verbs{"create"}
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "metrics.k8s.io", Version: "v1"}: errors.New("down"),
	}}
	before, _ := selectKinds([]*metav1.APIResourceList{resources("metrics.k8s.io/v1", "pods"), resources("apps/v1", "deployments")}, nil, nil, nil)
	tests := map[string]struct {
		found    []*metav1.APIResourceList
		err      error
		excluded []schema.GroupKind
		want     []string
	}{
		"all that can be watched": {
			found: []*metav1.APIResourceList{resources("v1", "pods", "secrets"), reviews}, want: []string{"pods", "secrets"},
		},
		// Edge case 78.
		"never leases, events, endpoints and records": {
			found: []*metav1.APIResourceList{
				resources("v1", "pods", "events", "endpoints"), resources("events.k8s.io/v1", "events"),
				resources("coordination.k8s.io/v1", "leases"), resources("discovery.k8s.io/v1", "endpointslices"),
				resources("ownership.k8sconnect.io/v1alpha1", "ownershiprecords"),
			},
			want: []string{"pods"},
		},
		"excluded kinds are left out": {
			found:    []*metav1.APIResourceList{resources("v1", "pods", "secrets")},
			excluded: []schema.GroupKind{{Kind: "Secret"}}, want: []string{"pods"},
		},
		"a group that cannot be read stays unchanged, and others are updated": {
			found: []*metav1.APIResourceList{resources("v1", "pods")}, err: failed, want: []string{"pods", "pods.metrics.k8s.io"},
		},
		"failed discovery changes nothing": {
			err: errors.New("down"), want: []string{"deployments.apps", "pods.metrics.k8s.io"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := selectKinds(tt.found, tt.err, before, slices.Concat(leftOut(), tt.excluded))
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v", err)
			}
			var got []string
			for name := range found {
				got = append(got, name.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}

// Edge case 81: the number of declared gaps is bounded.
func TestCoverage(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	tests := map[string]struct {
		gaps []Span
		want []Span
	}{
		"apart":       {[]Span{{at(5), at(6)}, {at(1), at(2)}}, []Span{{at(1), at(2)}, {at(5), at(6)}}},
		"overlapping": {[]Span{{at(1), at(3)}, {at(2), at(5)}, {at(2), at(4)}}, []Span{{at(1), at(5)}}},
		"twice":       {[]Span{{at(1), at(3)}, {at(1), at(3)}}, []Span{{at(1), at(3)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c Coverage
			for _, gap := range tt.gaps {
				c.Add(Gap{Span: gap})
			}
			var got []Span
			for _, gap := range c.Gaps {
				got = append(got, gap.Span)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
	var c Coverage
	for i := range 1000 {
		c.Add(Gap{Span: Span{at(2 * i), at(2*i + 1)}})
	}
	if len(c.Gaps) != maxGaps || !c.Gaps[maxGaps-1].To.Equal(at(1999)) {
		t.Errorf("%d gaps, the last %v", len(c.Gaps), c.Gaps[len(c.Gaps)-1])
	}
}

// Edge case 81: hints are bounded, and dropped ones are counted.
func TestHintCountIsBounded(t *testing.T) {
	s := begin(position{})
	s.list(1, fields("a", 1, "argo"))
	for i := range maxHints + 10 {
		s.admit(fmt.Sprint("o", i%1000), 1_000_000+i, "flux", "alice")
	}
	if s.hints.count != maxHints || s.counts.dropped != 10 {
		t.Errorf("%d hints, %d dropped", s.hints.count, s.counts.dropped)
	}
	s.wait(hintLife)
	if s.hints.count != 0 || len(s.hints.of) != 0 || s.counts.expired != maxHints {
		t.Errorf("%d hints, %d expired", s.hints.count, s.counts.expired)
	}
}

// A kind is gone only if all answers lack it for a while. An answer without Kubernetes' own kinds
// is ignored.
func TestAbsentKinds(t *testing.T) {
	all, _ := selectKinds([]*metav1.APIResourceList{resources("v1", "pods", "secrets"), resources("apps/v1", "deployments")}, nil, nil, nil)
	less := func() kinds {
		out, _ := selectKinds([]*metav1.APIResourceList{resources("v1", "pods", "secrets")}, nil, nil, nil)
		return out
	}
	var a absent
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for i, step := range []struct {
		found   kinds
		seconds int
		want    int
		// served means that the API server serves the kind, although discovery lacks it.
		served bool
	}{
		{less(), 0, 3, false}, {less(), 4, 3, false}, {all, 5, 3, false}, // It is there again.
		{less(), 6, 3, false}, {less(), 10, 3, false}, {less(), 11, 3, true}, {less(), 12, 3, false}, {less(), 17, 2, false},
	} {
		got := a.keepUnreadable(step.found, all, at(step.seconds), func(kind) bool { return step.served })
		if noted := a.takeContradicted(); len(got) != step.want || (len(noted) > 0) != step.served {
			t.Errorf("step %d: %d kinds, want %d; reported %v", i, len(got), step.want, noted)
		}
	}
	if hasOwn([]*metav1.APIResourceList{resources("apps/v1", "deployments")}) || hasOwn([]*metav1.APIResourceList{resources("v1", "configmaps")}) ||
		!hasOwn([]*metav1.APIResourceList{resources("v1", "configmaps"), resources("apps/v1", "deployments")}) {
		t.Error("hasOwn() must need both the core group and another built-in group")
	}
}
