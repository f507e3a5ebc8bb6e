package exclusive_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// The manifest only names the object. Without owners, its fields are those of unknown writers (edge case 17).
func TestAdditionsOfUnknown(t *testing.T) {
	const (
		account = "apiVersion: v1, kind: ServiceAccount"
		widget  = "apiVersion: example.com/v1, kind: Widget"
		helm    = `{manager: helm, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`
		k9s     = `{manager: k9s, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:tags": {".": {}, 'v:"x"': {}}}}}`
		first   = `{manager: before-first-apply, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:team": {}}}}}`
	)
	clients := func(o managedfields.Owner) bool { return o.Manager == "" || exclusive.IsClient(o.Manager) }
	for name, tt := range map[string]struct {
		live, created string
		owners        []string
		sets          bool
		counts        func(managedfields.Owner) bool
		want          []string
	}{
		"nothing added": {live: account + ", metadata: {name: a, uid: u, creationTimestamp: '2026-11-28T12:00:00Z'}"},
		"labels, annotations and lists": {
			live: account + ", metadata: {name: a, labels: {team: a}, annotations: {note: b}}, imagePullSecrets: [{name: r}]",
			want: []string{".imagePullSecrets", ".metadata.annotations.note", ".metadata.labels.team"},
		},
		"records and the name of a namespace":               {live: "apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {kubernetes.io/metadata.name: a}, finalizers: [x]}, status: {phase: Active}"},
		"values that may be defaults":                       {live: widget + ", metadata: {name: a, labels: {team: a}}, spec: {mode: slow}", want: []string{".metadata.labels.team"}},
		"values that are no defaults":                       {live: widget + ", metadata: {name: a}, spec: {mode: slow, x: y}", created: widget + ", metadata: {name: b}, spec: {mode: slow}", want: []string{".spec.x"}},
		"only clients count":                                {live: account + ", metadata: {name: a, labels: {team: a}}", counts: func(o managedfields.Owner) bool { return o.Manager == "helm" }},
		"the manifest sets a field":                         {live: account + ", metadata: {name: a, labels: {team: a}}", sets: true},
		"before-first-apply":                                {live: account + ", metadata: {name: a, labels: {team: a}}", owners: []string{first}, want: []string{".metadata.labels.team before-first-apply (Update)"}},
		"before-first-apply beside a field of the manifest": {live: account + ", metadata: {name: a, labels: {team: a}}", owners: []string{first}, sets: true},
		"a map with its defaults": {
			live: widget + ", metadata: {name: a}, spec: {mode: slow, tags: [x]}", created: widget + ", metadata: {name: b}", owners: []string{helm, k9s},
			want: []string{".spec helm (Apply) k9s (Update)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := exclusive.Question{Live: fieldstest.Read(t, "{"+tt.live+"}"), Manager: fieldstest.Us, Counts: tt.counts, NamesOnly: !tt.sets}
			if q.Counts == nil {
				q.Counts = clients
			}
			q.Manifest = fieldstest.Read(t, "{apiVersion: "+q.Live.GetAPIVersion()+", kind: "+q.Live.GetKind()+", metadata: {name: a}}")
			if tt.created != "" {
				q.Created = fieldstest.Read(t, "{"+tt.created+"}")
			}
			var entries []any
			for _, e := range tt.owners {
				entries = append(entries, fieldstest.Content(t, e))
			}
			if len(entries) > 0 {
				q.Live.Object["metadata"].(map[string]any)["managedFields"] = entries
			}
			found, err := exclusive.Additions(q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range found {
				line := a.Path.String()
				for _, o := range a.Owners {
					line += " " + o.String()
				}
				got = append(got, line)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
