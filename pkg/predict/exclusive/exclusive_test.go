package exclusive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/exclusive"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "a:1", env: [{name: A, value: "1"}], ports: [{containerPort: 80}]}
`

const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, team: a}
  finalizers: [example.com/hold]
  annotations: {deployment.kubernetes.io/revision: "2", note: by hand}
spec:
  replicas: 5
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {kubectl.kubernetes.io/restartedAt: "2026-11-28T12:00:00Z"}}
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirst
      containers:
      - name: app
        image: a:1
        imagePullPolicy: IfNotPresent
        terminationMessagePath: /dev/termination-log
        env: [{name: A, value: "1"}, {name: DEBUG, value: "1"}]
        ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]
        livenessProbe: {httpGet: {path: /, port: 80, scheme: HTTP}, timeoutSeconds: 1}
      - {name: miner, image: "other:1", imagePullPolicy: IfNotPresent}
status: {observedGeneration: 2}
`

const ours = `"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {
  'k:{"name":"app"}': {".": {}, "f:name": {}, "f:image": {}, "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
    "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}}}}}}`

func pod(fields string) string { return `"f:spec": {"f:template": {"f:spec": {` + fields + `}}}` }

func app(fields string) string {
	return pod(`"f:containers": {'k:{"name":"app"}': {` + fields + `}}`)
}

const miner = `"f:containers": {'k:{"name":"miner"}': {".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}}}`

type owner struct{ manager, more, fields string }

func update(manager, fields string) owner { return owner{manager, "operation: Update", fields} }

func TestAdditions(t *testing.T) {
	const (
		containers = ".spec.template.spec.containers"
		debug      = `"f:env": {'k:{"name":"DEBUG"}': {".": {}, "f:name": {}, "f:value": {}}}`
		probe      = `"f:livenessProbe": {".": {}, "f:httpGet": {".": {}, "f:path": {}, "f:port": {}, "f:scheme": {}}, "f:timeoutSeconds": {}}`
		created    = `"f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:team": {}}}, "f:spec": {"f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:selector": {},
  "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
  "f:template": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:dnsPolicy": {}, "f:containers": {
    'k:{"name":"app"}': {".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:terminationMessagePath": {},
      "f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}, 'k:{"name":"DEBUG"}': {".": {}, "f:name": {}, "f:value": {}}}},
    'k:{"name":"miner"}': {".": {}, "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}}}}}}`
	)
	tests := map[string]struct {
		others []owner
		left   string
		want   []string
	}{
		"no other manager": {},
		"a container":      {others: []owner{update("kubectl-edit", pod(miner))}, want: []string{containers + `[name="miner"] kubectl-edit (Update)`}},
		"a variable":       {others: []owner{update("kubectl-set", app(debug))}, want: []string{containers + `[name="app"].env[name="DEBUG"] kubectl-set (Update)`}},
		"a field":          {others: []owner{update("kubectl-edit", pod(`"f:hostNetwork": {}`))}, want: []string{".spec.template.spec.hostNetwork kubectl-edit (Update)"}},
		"a port beside the declared one, whose protocol the manifest omits": {
			others: []owner{update("kubectl-edit", app(`"f:ports": {'k:{"containerPort":80,"protocol":"UDP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}}}`))},
			want:   []string{containers + `[name="app"].ports[containerPort=80,protocol="UDP"] kubectl-edit (Update)`},
		},
		"a value at once": {others: []owner{update("kubectl-edit", app(probe))}, want: []string{containers + `[name="app"].livenessProbe kubectl-edit (Update)`}},
		"labels and annotations one by one": {
			others: []owner{update("kubectl-label", `"f:metadata": {"f:labels": {"f:team": {}}, "f:annotations": {"f:note": {}}}`)},
			want:   []string{".metadata.annotations.note kubectl-label (Update)", ".metadata.labels.team kubectl-label (Update)"},
		},
		"two owners": {
			others: []owner{update("kubectl-edit", pod(`"f:hostNetwork": {}`)), {"k9s", "operation: Apply", pod(`"f:hostNetwork": {}`)}},
			want:   []string{".spec.template.spec.hostNetwork k9s (Apply) kubectl-edit (Update)"},
		},
		"defaults of the update that created the object": {
			others: []owner{update("kubectl-create", created)},
			want: []string{
				".metadata.labels.team kubectl-create (Update)",
				containers + `[name="app"].env[name="DEBUG"] kubectl-create (Update)`, containers + `[name="miner"] kubectl-create (Update)`,
			},
		},
		"an apply owns no defaults": {
			others: []owner{{"helm", "operation: Apply", `"f:spec": {"f:progressDeadlineSeconds": {}, "f:selector": {}}`}},
			want:   []string{".spec.progressDeadlineSeconds helm (Apply)"},
		},
		"fields that the manifest sets, and the keys of its items": {
			others: []owner{update("kubectl-set", app(`"f:image": {}, "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:protocol": {}}}`))},
		},
		"controllers and injectors": {
			others: []owner{update("kube-controller-manager", `"f:metadata": {"f:annotations": {"f:note": {}}}`), update("sidecar-injector", pod(miner))},
		},
		"a field that a controller shares": {
			others: []owner{update("reloader", app(debug)), update("kubectl-set", app(debug))},
		},
		"subresources": {
			others: []owner{
				{"kubectl", "operation: Update, subresource: scale", `"f:spec": {"f:replicas": {}}`},
				{"kubectl-edit", "operation: Update, subresource: status", `"f:status": {"f:observedGeneration": {}}`},
			},
		},
		"status and records": {
			others: []owner{update("kubectl-edit", `"f:status": {"f:observedGeneration": {}}, "f:metadata": {"f:annotations": {"f:deployment.kubernetes.io/revision": {}},
  "f:finalizers": {'v:"example.com/hold"': {}}}, "f:spec": {"f:template": {"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/restartedAt": {}}}}}`)},
		},
		"our own updates": {others: []owner{update(fieldstest.Us, pod(miner))}},
		"another API version": {
			others: []owner{{"kubectl-edit", "operation: Update, apiVersion: apps/v1beta1", pod(miner)}},
		},
		"left by the user": {others: []owner{update("kubectl-edit", pod(miner+`, "f:hostNetwork": {}`))}, left: ".spec.template.spec.hostNetwork", want: []string{containers + `[name="miner"] kubectl-edit (Update)`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			object := fieldstest.Read(t, live)
			var fields []any
			for _, o := range append([]owner{{fieldstest.Us, "operation: Apply", ours}}, tt.others...) {
				entry := fieldstest.Content(t, `{manager: `+o.manager+`, `+o.more+`, fieldsType: FieldsV1, fieldsV1: {`+o.fields+`}}`)
				if entry["apiVersion"] == nil {
					entry["apiVersion"] = "apps/v1"
				}
				fields = append(fields, entry)
			}
			object.Object["metadata"].(map[string]any)["managedFields"] = fields
			found, err := exclusive.Additions(exclusive.Question{
				Live: object, Manifest: fieldstest.Read(t, manifest), Manager: fieldstest.Us,
				Counts: func(o managedfields.Owner) bool { return exclusive.IsClient(o.Manager) },
				Left:   func(p fieldpath.Path, _ []managedfields.Owner) bool { return p.String() == tt.left },
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range found {
				text := a.Path.String()
				for _, o := range fieldstest.OwnerTexts(a.Owners) {
					text += " " + o
				}
				got = append(got, text)
				if v, _ := a.Path.Get(object.Object); !fieldpath.Equal(v, a.Value) {
					t.Errorf("%s: value %v, want %v", a.Path, a.Value, v)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The server adds no data to a ConfigMap or a Secret, so all of it comes from the update that created the
// object. Other fields may be defaults.
func TestAdditionsToData(t *testing.T) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		u := fieldstest.Read(t, `{apiVersion: v1, kind: `+kind+`, metadata: {name: a}, type: Opaque, data: {a: YQ==, b: YQ==}}`)
		u.Object["metadata"].(map[string]any)["managedFields"] = []any{fieldstest.Content(t,
			`{manager: kubectl-create, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:type": {}, "f:data": {".": {}, "f:a": {}, "f:b": {}}}}`)}
		found, err := exclusive.Additions(exclusive.Question{
			Live: u, Manifest: fieldstest.Read(t, `{apiVersion: v1, kind: `+kind+`, metadata: {name: a}, data: {a: YQ==}}`), Manager: fieldstest.Us,
			Counts: func(o managedfields.Owner) bool { return exclusive.IsClient(o.Manager) },
		})
		if err != nil || len(found) != 1 || found[0].Path.String() != ".data.b" {
			t.Errorf("%s: %v, %v", kind, found, err)
		}
	}
}

// A value that a new object has, too, is a default, or admission adds it to every new object.
func TestAdditionsCreated(t *testing.T) {
	object := fieldstest.Read(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {dnsPolicy: ClusterFirst, priority: 7, hostNetwork: true,
  securityContext: {fsGroup: 1, runAsUser: 0}, containers: [{name: app, image: a}, {name: proxy, image: p}, {name: miner, image: m}]}}`)
	object.Object["metadata"].(map[string]any)["managedFields"] = []any{fieldstest.Content(t, `{manager: client, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1:
  {"f:spec": {"f:dnsPolicy": {}, "f:priority": {}, "f:hostNetwork": {}, "f:securityContext": {".": {}, "f:fsGroup": {}, "f:runAsUser": {}}, "f:containers": {
    'k:{"name":"app"}': {".": {}, "f:name": {}, "f:image": {}}, 'k:{"name":"proxy"}': {".": {}, "f:name": {}, "f:image": {}}, 'k:{"name":"miner"}': {".": {}, "f:name": {}, "f:image": {}}}}}}`)}
	found, err := exclusive.Additions(exclusive.Question{
		Live: object, Manifest: fieldstest.Read(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: app, image: a}]}}`),
		Created: fieldstest.Read(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {dnsPolicy: ClusterFirst, priority: 0, securityContext: {fsGroup: 1},
  containers: [{name: app, image: a}, {name: proxy, image: p}]}}`),
		Manager: fieldstest.Us, Counts: exclusive.Counts,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range found {
		got = append(got, a.Path.String())
	}
	if diff := cmp.Diff([]string{`.spec.containers[name="miner"]`, ".spec.hostNetwork", ".spec.priority", ".spec.securityContext.runAsUser"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Kubernetes assigns the rules of an aggregated ClusterRole to its controller, and a CA bundle to an
// injector, but not to a person.
func TestAdditionsByDesign(t *testing.T) {
	const object = `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {group: example.com`
	for manager, want := range map[string]int{"k9s": 0, "kubectl-edit": 1} {
		u := fieldstest.Read(t, object+`, caBundle: Cg==}}`)
		u.Object["metadata"].(map[string]any)["managedFields"] = []any{fieldstest.Content(t,
			`{manager: `+manager+`, operation: Update, apiVersion: apiregistration.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:caBundle": {}}}}`)}
		got, err := exclusive.Additions(exclusive.Question{
			Live: u, Manifest: fieldstest.Read(t, object+`}}`), Manager: fieldstest.Us,
			Counts:   func(o managedfields.Owner) bool { return exclusive.IsClient(o.Manager) },
			ByDesign: predict.ByDesign(u.GroupVersionKind().GroupKind(), u),
		})
		if err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", manager, got, err)
		}
	}
}

func TestIsClient(t *testing.T) {
	for manager, want := range map[string]bool{
		"kubectl": true, "kubectl-edit": true, "kubectl-client-side-apply": true, "Mozilla": true, "helm": true, "pulumi-kubernetes-1a2b": true,
		"kube-controller-manager": false, "helm-controller": false, "kustomize-controller": false, "cert-manager-cainjector": false, "before-first-apply": false, "": false,
	} {
		if exclusive.IsClient(manager) != want {
			t.Errorf("IsClient(%q) is not %t", manager, want)
		}
	}
}
