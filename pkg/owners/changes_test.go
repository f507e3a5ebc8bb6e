package owners_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// recorded returns the record of an object, with a line for each transition: path, managers before
// and after, and the hour on 2 January.
func recorded(namespace, apiVersion, kind, name string, transitions ...string) string {
	text := "{apiVersion: ownership.k8sconnect.io/v1alpha1, kind: OwnershipRecord, metadata: {name: " + strings.ToLower(kind) + "-" + name + ", namespace: " + namespace + "},\n" +
		"object: {apiVersion: " + apiVersion + ", kind: " + kind + ", name: " + name + ", namespace: " + strings.TrimPrefix(namespace, "webhook-system") + ", uid: u-" + name + "}, transitions: [\n"
	for _, line := range transitions {
		word := strings.Fields(line)
		at := `"2026-01-02T` + word[3] + `:00:00Z"`
		text += "{path: '" + word[0] + "', kind: taken, from: [{manager: " + word[1] + ", operation: Apply}], to: [{manager: " + word[2] +
			", operation: Update}], count: 1, first: " + at + ", last: " + at + "},\n"
	}
	return text + "]}"
}

func TestChanges(t *testing.T) {
	all := []string{
		strings.Replace(tracker, `"Node":`, `"Deployment.apps":"2026-01-01T00:00:05Z","Service":"2026-01-01T00:00:00Z","Job.batch":"2026-01-03T00:00:00Z","Node":`, 1),
		recorded("prod", "apps/v1", "Deployment", "web", ".spec.replicas flux keda 03", `.spec.template.spec.containers[name="app"].image flux kubectl-edit 05`),
		recorded("prod", "v1", "Service", "web", `.spec.ports[port=80,protocol="TCP"].targetPort helm flux 04`),
		recorded("shop", "apps/v1", "Deployment", "cart", ".spec.replicas flux keda 06", ".spec helm flux 02"),
		recorded("webhook-system", "v1", "Node", "n1", ".spec.unschedulable flux kubectl 07"),
	}
	deployments, services, nodes, jobs := kind("apps", "Deployment"), kind("", "Service"), kind("", "Node"), kind("batch", "Job")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
	const everywhere = "the webhook excludes the namespaces kube-system, loud, webhook-system"
	excluded, refused, late := "excluded by the chart's values: Pod, Secret", "the webhook is not allowed to list and watch Bird.example.com", "only since 2026-01-03T00:00:00Z: Job.batch"
	for name, test := range map[string]struct {
		reader fakeReader
		query  owners.Query
		path   string
		hour   int // of From
		want   []string
		limits []string
		err    string
		later  time.Duration
	}{
		"of a namespace": {
			query: owners.Query{Namespace: "prod"}, limits: []string{excluded, late, refused},
			want: []string{"prod/web .spec.template.spec.containers[name=\"app\"].image", "prod/web .spec.ports[port=80,protocol=\"TCP\"].targetPort", "prod/web .spec.replicas"},
		},
		"everywhere": {
			hour: 6, want: []string{"/n1 .spec.unschedulable", "shop/cart .spec.replicas"}, limits: []string{everywhere, excluded, late, refused},
		},
		"of a kind":                {query: owners.Query{Places: []owners.Place{{Kind: services, Namespace: "prod"}}}, want: []string{"prod/web .spec.ports[port=80,protocol=\"TCP\"].targetPort"}, limits: nil},
		"of a cluster-scoped kind": {query: owners.Query{Places: []owners.Place{{Kind: nodes}}}, want: []string{"/n1 .spec.unschedulable"}, limits: []string{everywhere}},
		"of two kinds, one of them cluster-scoped": {
			query: owners.Query{Places: []owners.Place{{Kind: nodes}, {Kind: deployments, Namespace: "prod"}}}, hour: 4, limits: []string{everywhere},
			want: []string{"/n1 .spec.unschedulable", "prod/web .spec.template.spec.containers[name=\"app\"].image"},
		},
		"of a manager that gained or lost fields": {
			query: owners.Query{Places: []owners.Place{{Kind: deployments, Namespace: "shop"}}, Managers: []string{"keda", "other"}}, want: []string{"shop/cart .spec.replicas"},
		},
		"of a path and its parents": {
			query: owners.Query{Places: []owners.Place{{Kind: deployments, Namespace: "shop"}}}, path: ".spec.replicas", want: []string{"shop/cart .spec.replicas", "shop/cart .spec"},
		},
		"of a path by a part of its key": {query: owners.Query{Places: []owners.Place{{Kind: services, Namespace: "prod"}}}, path: ".spec.ports[port=80]", want: []string{"prod/web .spec.ports[port=80,protocol=\"TCP\"].targetPort"}},
		"of any container":               {query: owners.Query{Places: []owners.Place{{Kind: deployments, Namespace: "prod"}}}, path: ".spec.template.spec.containers[*].image", want: []string{"prod/web .spec.template.spec.containers[name=\"app\"].image"}},
		"none":                           {query: owners.Query{Places: []owners.Place{{Kind: deployments, Namespace: "prod"}}}, hour: 6},
		"none for a kind watched more recently": {
			query: owners.Query{Places: []owners.Place{{Kind: jobs, Namespace: "prod"}, {Kind: deployments, Namespace: "prod"}}}, hour: 6, limits: []string{late},
		},
		"none for a kind that is not watched":     {query: owners.Query{Places: []owners.Place{{Kind: kind("", "Secret"), Namespace: "prod"}}}, err: "the webhook does not track Secrets"},
		"none in a namespace that is not watched": {query: owners.Query{Namespace: "loud"}, err: "the webhook excludes the namespace loud"},
		"none, and the webhook is down":           {query: owners.Query{Namespace: "prod"}, hour: 9, later: time.Hour, err: "nothing is recorded, and the webhook has recorded no progress since"},
		"none for the status":                     {query: owners.Query{Namespace: "prod"}, path: ".status.replicas", err: "the webhook does not record writes through the status subresource"},
		"unknown scope":                           {reader: viewer(all[1:]...), query: owners.Query{Namespace: "prod"}, hour: 9, err: "no permission to list ConfigMaps"},
		"not installed": {
			reader: fakeReader{errs: map[string]error{ownership.RecordKind: &meta.NoKindMatchError{}}}, err: "k8sconnect's webhook, which records the history, is not installed",
		},
		"no permission": {reader: fakeReader{errs: map[string]error{ownership.RecordKind: forbidden}}, err: "x is forbidden"},
		"a broken record": {
			reader: fakeReader{objects: append([]string{strings.Replace(record, "dropped: 1", "dropped: many", 1)}, all...)}, query: owners.Query{Namespace: "prod"}, hour: 5,
			err: "read ownershiprecord.ownership.k8sconnect.io/configmap-u-1 -n prod: ", want: []string{"prod/web .spec.template.spec.containers[name=\"app\"].image"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.reader.objects == nil && test.reader.errs == nil {
				test.reader.objects = all
			}
			if test.path != "" {
				var err error
				if test.query.Path, err = fieldpath.ParsePattern(test.path); err != nil {
					t.Fatal(err)
				}
			}
			if test.hour > 0 {
				test.query.From = time.Date(2026, 1, 2, test.hour, 0, 0, 0, time.UTC)
			}
			got, err := test.query.Changes(t.Context(), test.reader, noted().Add(test.later))
			if (err != nil) != (test.err != "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
				t.Fatalf("got the error %v, want %q", err, test.err)
			}
			var about []string
			for _, c := range got.Changes {
				about = append(about, c.Ref.Namespace+"/"+c.Ref.Name+" "+c.Path)
			}
			if diff := gocmp.Diff(test.want, about); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			if diff := gocmp.Diff(test.limits, got.Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			// The gap is in the first hour of that day, before the period.
			if gaps := len(got.Coverage.Gaps); gaps > 0 != (test.hour == 0) || got.Coverage.Since.IsZero() {
				t.Errorf("coverage %+v", got.Coverage)
			}
		})
	}
}

// A gap that ended before a namespace existed does not concern its history.
func TestGapsBeforeNamespace(t *testing.T) {
	for created, want := range map[string]int{"2026-01-02T00:30:00Z": 1, "2026-01-02T01:00:00Z": 0} {
		namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, creationTimestamp: '" + created + "'}"
		reader := fakeReader{objects: []string{strings.Replace(record, "name: web,", "name: web, namespace: prod,", 1), tracker, namespace}}
		got, err := owners.Query{Namespace: "prod"}.Changes(t.Context(), reader, noted())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Coverage.Gaps); n != want {
			t.Errorf("namespace created at %s: %d gaps, want %d", created, n, want)
		}
	}
}

func kind(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }

// Transitions that did not fit in a record are mentioned if they may be in the period.
func TestChangesThatWereDropped(t *testing.T) {
	for hour, want := range map[int]int{2: 1, 4: 0} {
		q := owners.Query{Namespace: "prod", From: time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC)}
		got, err := q.Changes(t.Context(), fakeReader{objects: []string{strings.Replace(record, "name: web,", "name: web, namespace: prod,", 1), tracker}}, noted())
		if err != nil || got.Dropped != want || got.Lost != 2 || len(got.Changes) != 1+want {
			t.Errorf("since %d:00: got %d dropped, %d lost, %d changes, error %v", hour, got.Dropped, got.Lost, len(got.Changes), err)
		}
	}
}
