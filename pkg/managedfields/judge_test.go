package managedfields_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// edits maps paths to values.
type edits map[string]any

// webOurs is what of the manifest of web is still ours.
var webOurs = edits{".spec.replicas": absent, app + ".image": absent}

func with(all ...edits) edits {
	out := edits{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

const (
	settled  = managedfields.Settled
	clearly  = managedfields.Clear
	doubtful = managedfields.Doubtful
)

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		live, manifest         string
		liveEdits, manifestEds edits
		manager                string
		want                   managedfields.Verdict
		conflicts              []string
	}{
		"as applied": {live: webLive, manifest: web, manifestEds: webOurs, want: settled},
		"others took two fields since (edge case 10)": {
			live: webLive, manifest: web, want: doubtful, conflicts: []string{".spec.replicas", app + ".image"},
		},
		"their values are ours now": {
			live: webLive, manifest: web, manifestEds: edits{".spec.replicas": int64(5), app + ".image": "app:1.2"}, want: clearly,
		},
		"a label of ours more": {
			live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.labels.tier": "x"}), want: clearly,
		},
		"a label of ours less": {
			live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.labels": absent}), want: clearly,
		},
		"drift in a field of ours": {
			live: webLive, manifest: web, manifestEds: webOurs,
			liveEdits: edits{`.metadata.labels["app.kubernetes.io/name"]`: "other"}, want: clearly,
		},
		"atomic selector differs (edge case 5)": {
			live: webLive, manifest: web, manifestEds: webOurs,
			liveEdits: edits{".spec.selector.theirs": "x"}, want: clearly,
		},
		"a field the server defaulted": {
			live: webLive, manifest: web, manifestEds: with(webOurs, edits{app + ".imagePullPolicy": "IfNotPresent"}), want: clearly,
		},
		"another kind":         {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".kind": "DaemonSet"}), want: doubtful},
		"no metadata":          {live: webLive, manifest: web, manifestEds: edits{".metadata": absent}, want: doubtful},
		"name differs":         {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.name": "other"}), want: doubtful},
		"uid is the live one":  {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.uid": "cc653f20-ec2e-4f77-8974-43e82656d73a"}), want: settled},
		"uid is another":       {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.uid": "x"}), want: doubtful},
		"old resource version": {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.resourceVersion": "1"}), want: doubtful},
		"managed fields given": {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.managedFields": []any{}}), want: doubtful},
		"null for a timestamp": {live: webLive, manifest: web, manifestEds: with(webOurs, edits{".metadata.creationTimestamp": nil}), want: settled},
		"status, which the kind has apart": {
			live: webLive, manifest: web, manifestEds: with(webOurs, edits{".status": map[string]any{"replicas": int64(9)}}), want: settled,
		},
		"another version (edge case 7)": {
			live: webLive, manifest: web, liveEdits: edits{".apiVersion": "apps/v2"},
			manifestEds: with(webOurs, edits{".apiVersion": "apps/v2"}), want: doubtful,
		},

		"defaulted key is proven (edge case 3)": {live: dnsLive, manifest: dns, want: settled},
		"defaulted key that was stated before (edge case 3)": {
			live: dnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns, port: 53}, {name: dns-tcp, port: 53}]
`, want: clearly,
		},
		"key stated that was defaulted before": {
			live: dnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
`, want: clearly,
		},
		"items in another order": {
			live: dnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns-tcp, port: 53}, {name: dns, port: 53, protocol: UDP}]
`, want: clearly,
		},
		"one item twice": {
			live: dnsLive, manifest: `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns, port: 53, protocol: UDP}]
`, want: clearly,
		},

		"finalizer of ours among others' (edge case 2)": {live: confLive, manifest: conf, want: settled},
		"finalizer of theirs too": {
			live: confLive, manifest: conf, want: clearly,
			manifestEds: edits{".metadata.finalizers": []any{"example.com/theirs", "example.com/ours"}},
		},
		"label of theirs, equal": {
			live: confLive, manifest: conf, manifestEds: edits{".metadata.labels": map[string]any{"owner": "operator"}}, want: clearly,
		},
		"label of theirs, another": {
			live: confLive, manifest: conf, manifestEds: edits{".metadata.labels": map[string]any{"owner": "me"}},
			want: doubtful, conflicts: []string{".metadata.labels.owner"},
		},
		"labels stated empty (edge case 13)": {
			live: confLive, manifest: conf, manifestEds: edits{".metadata.labels": map[string]any{}}, want: clearly,
		},
		"label of theirs as null (edge case 16)": {
			live: confLive, manifest: conf, manifestEds: edits{".metadata.labels": map[string]any{"owner": nil}},
			want: doubtful, conflicts: []string{".metadata.labels.owner"},
		},
		"empty text is not absent (edge case 16)": {
			live: confLive, manifest: conf, liveEdits: edits{".data.empty": absent}, want: clearly,
		},
		"a manager that has applied nothing yet": {
			live: confLive, manifest: conf, manager: "new", want: clearly,
		},

		"stringData (edge case 12)": {live: dbLive, manifest: db, want: settled},
		"stringData, drift (edge case 12)": {
			live: dbLive, manifest: db, liveEdits: edits{".data.password": "b3RoZXI="}, want: doubtful,
		},
		"stringData, another value (edge case 12)": {
			live: dbLive, manifest: db, manifestEds: edits{".stringData.password": "other"}, want: doubtful,
		},
		"stringData, another key (edge case 12)": {
			live: dbLive, manifest: db, manifestEds: edits{".stringData.user": "me"}, want: doubtful,
		},
		"stringData overruled by data": {
			live: dbLive, manifest: db, manifestEds: edits{".data": map[string]any{"password": "b3RoZXI="}}, want: doubtful,
		},

		"bare, nothing to own (edge case 17)": {
			live:     `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: b, uid: c}}`,
			manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: b}}`, want: settled,
		},
		"bare, live has more, cleared (edge case 17)": {
			live:     `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, labels: {x: x}}}`,
			manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}`, want: settled,
		},
		"cleared managed fields (edge case 17)": {
			live:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: x}}`,
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: x}}`, want: doubtful,
		},
		"bare beside others": {
			live: confLive, manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: conf}}`, manager: "new", want: settled,
		},
		"malformed managed fields": {
			live:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [{manager: m}]}}`,
			manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, want: doubtful,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live := edited(t, read(t, tt.live), tt.liveEdits)
			manifest := edited(t, read(t, tt.manifest), tt.manifestEds)
			manager := us
			if tt.manager != "" {
				manager = tt.manager
			}
			got, conflicts := managedfields.Judge(live, manifest, manager)
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if diff := cmp.Diff(tt.conflicts, conflictPaths(conflicts)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

// Conflicts that are likely come with both values and all owners.
func TestJudgeConflicts(t *testing.T) {
	_, got := managedfields.Judge(read(t, webLive), read(t, web), us)
	if len(got) != 2 {
		t.Fatal(got)
	}
	if got[0].Yours != int64(3) || got[0].Live != int64(5) || !got[0].HasLive {
		t.Errorf("values: %+v", got[0])
	}
	if diff := cmp.Diff([]string{"kubectl (scale)"}, ownerTexts(got[0].Owners)); diff != "" {
		t.Error(diff)
	}
}

// Who else states stringData is in conflict with each apply of it, since it is
// never live (edge case 12).
func TestJudgeSharedStringData(t *testing.T) {
	live := read(t, dbLive)
	fields := live.GetManagedFields()
	other := *fields[0].DeepCopy()
	other.Manager = "somebody"
	live.SetManagedFields(append(fields, other))
	if got, _ := managedfields.Judge(live, read(t, db), us); got != doubtful {
		t.Errorf("got %v, want doubtful", got)
	}
}

// The API server rewrites the last-applied annotation for the manager kubectl,
// so that nothing is settled where there is one.
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
	manifest := read(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "1"}}`)
	for manager, want := range map[string]managedfields.Verdict{"kubectl": clearly, us: settled} {
		live := read(t, text)
		live.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)["manager"] = manager
		if got, _ := managedfields.Judge(live, manifest, manager); got != want {
			t.Errorf("%s: got %v, want %v", manager, got, want)
		}
	}
}

// A set into which an Update entry was moved holds parents that no apply would:
// the next apply changes who owns what.
func TestJudgeAfterAdoption(t *testing.T) {
	live := read(t, oldLive)
	adoption, err := managedfields.Adopt(live, us, managedfields.From{Always: []string{managedfields.ClientSideApply}})
	if err != nil {
		t.Fatal(err)
	}
	live.Object["metadata"].(map[string]any)["managedFields"] = adoption.Fields
	manifest := read(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: prod, labels: {tier: a}}
data: {dropped: "2", kept: "1"}
`)
	manifest.SetAnnotations(live.GetAnnotations())
	if got, _ := managedfields.Judge(live, manifest, us); got != clearly {
		t.Errorf("got %v, want Clear", got)
	}
}
