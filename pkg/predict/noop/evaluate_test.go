package noop_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// edits maps paths to values.
type edits map[string]any

// webOurs reduces the manifest of web to the fields that we still own.
var webOurs = edits{".spec.replicas": fieldstest.Absent, fieldstest.App + ".image": fieldstest.Absent}

func with(all ...edits) edits {
	out := edits{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

const (
	settled  = noop.Unchanged
	clearly  = noop.Clear
	doubtful = noop.Doubtful
	refused  = noop.Contested
)

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		live, manifest         string
		liveEdits, manifestEds edits
		manager                string
		want                   noop.Verdict
		conflicts              []string
	}{
		"as applied": {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: webOurs, want: settled},
		"others took two fields since (edge case 10)": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, want: refused, conflicts: []string{".spec.replicas", fieldstest.App + ".image"},
		},
		"manifest has the values of others": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: edits{".spec.replicas": int64(5), fieldstest.App + ".image": "app:1.2"}, want: doubtful,
		},
		"additional label of ours": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.labels.tier": "x"}), want: clearly,
		},
		"one label of ours removed": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.labels": fieldstest.Absent}), want: clearly,
		},
		"drift in a field of ours": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: webOurs,
			liveEdits: edits{`.metadata.labels["app.kubernetes.io/name"]`: "other"}, want: clearly,
		},
		"atomic selector differs (edge case 5)": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: webOurs,
			liveEdits: edits{".spec.selector.theirs": "x"}, want: doubtful,
		},
		"a field the server defaulted": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{fieldstest.App + ".imagePullPolicy": "IfNotPresent"}), want: doubtful,
		},
		"another kind":         {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".kind": "DaemonSet"}), want: doubtful},
		"no metadata":          {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: edits{".metadata": fieldstest.Absent}, want: doubtful},
		"name differs":         {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.name": "other"}), want: doubtful},
		"uid is the live one":  {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.uid": "cc653f20-ec2e-4f77-8974-43e82656d73a"}), want: settled},
		"uid is another":       {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.uid": "x"}), want: doubtful},
		"old resource version": {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.resourceVersion": "1"}), want: doubtful},
		"managed fields given": {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.managedFields": []any{}}), want: doubtful},
		"null for a timestamp": {live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".metadata.creationTimestamp": nil}), want: settled},
		"status, which is a subresource of the kind": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, manifestEds: with(webOurs, edits{".status": map[string]any{"replicas": int64(9)}}), want: settled,
		},
		"another version (edge case 7)": {
			live: fieldstest.WebLive, manifest: fieldstest.Web, liveEdits: edits{".apiVersion": "apps/v2"},
			manifestEds: with(webOurs, edits{".apiVersion": "apps/v2"}), want: doubtful,
		},

		"defaulted key (edge case 3)": {live: fieldstest.DnsLive, manifest: fieldstest.Dns, want: settled},
		"defaulted key that was stated before (edge case 3)": {
			live: fieldstest.DnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns, port: 53}, {name: dns-tcp, port: 53}]
`, want: doubtful,
		},
		"key stated that was defaulted before": {
			live: fieldstest.DnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
`, want: doubtful,
		},
		"items in another order": {
			live: fieldstest.DnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns-tcp, port: 53}, {name: dns, port: 53, protocol: UDP}]
`, want: doubtful,
		},
		"duplicate item": {
			live: fieldstest.DnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns, port: 53, protocol: UDP}]
`, want: clearly,
		},

		"finalizer of ours among others' (edge case 2)": {live: fieldstest.ConfLive, manifest: fieldstest.Conf, want: settled},
		"finalizer of others added": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, want: clearly,
			manifestEds: edits{".metadata.finalizers": []any{"example.com/theirs", "example.com/ours"}},
		},
		"label of theirs, equal": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, manifestEds: edits{".metadata.labels": map[string]any{"owner": "operator"}}, want: doubtful,
		},
		"label of theirs, another": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, manifestEds: edits{".metadata.labels": map[string]any{"owner": "me"}},
			want: refused, conflicts: []string{".metadata.labels.owner"},
		},
		"labels set to an empty map (edge case 13)": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, manifestEds: edits{".metadata.labels": map[string]any{}}, want: doubtful,
		},
		"label of theirs as null (edge case 16)": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, manifestEds: edits{".metadata.labels": map[string]any{"owner": nil}},
			want: doubtful, conflicts: []string{".metadata.labels.owner"},
		},
		"empty text is not absent (edge case 16)": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, liveEdits: edits{".data.empty": fieldstest.Absent}, want: doubtful,
		},
		"a manager that has applied nothing yet": {
			live: fieldstest.ConfLive, manifest: fieldstest.Conf, manager: "new", want: clearly,
		},

		"recorded as stringData (edge case 12)": {live: fieldstest.DbLive, manifest: dbAsData, want: settled},
		"recorded as stringData, drift (edge case 12)": {
			live: fieldstest.DbLive, manifest: dbAsData, liveEdits: edits{".data.password": "b3RoZXI="}, want: clearly,
		},
		"recorded as stringData, another key (edge case 12)": {
			live: fieldstest.DbLive, manifest: dbAsData, manifestEds: edits{".data.user": "bWU="}, want: clearly,
		},
		"stated as stringData (edge case 12)": {live: fieldstest.DbLive, manifest: fieldstest.Db, want: doubtful},
		"recorded as stringData by another, another value (edge case 12)": {
			live: fieldstest.DbLive, manifest: dbAsData, manager: "new", manifestEds: edits{".data.password": "b3RoZXI="},
			want: doubtful, conflicts: []string{".data.password"},
		},

		"empty manifest without managed fields (edge case 17)": {
			live:     `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: b, uid: c}}`,
			manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: b}}`, want: settled,
		},
		"empty manifest, additional label, cleared managed fields (edge case 17)": {
			live:     `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, labels: {x: x}}}`,
			manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}`, want: settled,
		},
		"cleared managed fields (edge case 17)": {
			live:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: x}}`,
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: x}}`, want: doubtful,
		},
		"empty manifest for an object of others": {
			live: fieldstest.ConfLive, manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: conf}}`, manager: "new", want: settled,
		},
		"malformed managed fields": {
			live:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [{manager: m}]}}`,
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, want: doubtful,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live := fieldstest.Edited(t, fieldstest.Read(t, tt.live), tt.liveEdits)
			manifest := fieldstest.Edited(t, fieldstest.Read(t, tt.manifest), tt.manifestEds)
			manager := fieldstest.Us
			if tt.manager != "" {
				manager = tt.manager
			}
			got, conflicts := noop.Evaluate(live, manifest, manager)
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if diff := cmp.Diff(tt.conflicts, fieldstest.ConflictPaths(conflicts)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

// Conflicts have both values and all owners.
func TestJudgeConflicts(t *testing.T) {
	_, got := noop.Evaluate(fieldstest.Read(t, fieldstest.WebLive), fieldstest.Read(t, fieldstest.Web), fieldstest.Us)
	if len(got) != 2 {
		t.Fatal(got)
	}
	if got[0].Yours != int64(3) || got[0].Live != int64(5) || !got[0].HasLive {
		t.Errorf("values: %+v", got[0])
	}
	if diff := cmp.Diff([]string{"kubectl (scale)"}, fieldstest.OwnerTexts(got[0].Owners)); diff != "" {
		t.Error(diff)
	}
}

// dbAsData is the Secret with stringData moved to data.
const dbAsData = `{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: prod}, data: {password: aHVudGVyMg==}}`

// The API server updates the last-applied annotation for the manager kubectl, so an object with
// that annotation is never unchanged.
func TestJudgeKubectl(t *testing.T) {
	text := `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
  managedFields:
  - {manager: MANAGER, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:data: {f:a: {}}}}
  - {manager: old, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:annotations: {f:kubectl.kubernetes.io/last-applied-configuration: {}}}}}
data: {a: "1"}
`
	manifest := fieldstest.Read(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}`)
	for manager, want := range map[string]noop.Verdict{"kubectl": doubtful, fieldstest.Us: settled} {
		live := fieldstest.Read(t, text)
		live.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)["manager"] = manager
		if got, _ := noop.Evaluate(live, manifest, manager); got != want {
			t.Errorf("%s: got %v, want %v", manager, got, want)
		}
	}
}

// After an Update entry was moved into ours, our set has parents that no apply creates, so the next
// apply changes owners.
func TestJudgeAfterAdoption(t *testing.T) {
	live := fieldstest.Read(t, fieldstest.OldLive)
	adoption, err := adopt.Plan(live, fieldstest.Us, adopt.From{Always: []string{managedfields.ClientSideApply}})
	if err != nil {
		t.Fatal(err)
	}
	fields, err := adoption.Transfer()
	if err != nil {
		t.Fatal(err)
	}
	live.Object["metadata"].(map[string]any)["managedFields"] = fields
	manifest := fieldstest.Read(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: prod, labels: {tier: a}}
data: {dropped: "2", kept: "1"}
`)
	manifest.SetAnnotations(live.GetAnnotations())
	if got, _ := noop.Evaluate(live, manifest, fieldstest.Us); got != clearly {
		t.Errorf("got %v, want Clear", got)
	}
}
