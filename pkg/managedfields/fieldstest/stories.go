package fieldstest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Us is the manager from whose view the stories are.
const Us = "k8sconnect"

// Read returns the object that a YAML text describes, as a client would get it:
// integers are int64.
func Read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := json.UnmarshalCaseSensitivePreserveInts(content, &u.Object); err != nil {
		t.Fatal(err)
	}
	return &u
}

// Edited returns the object with some paths set to other values; nil as a value
// is null, and absent removes.
func Edited(t testing.TB, u *unstructured.Unstructured, edits map[string]any) *unstructured.Unstructured {
	t.Helper()
	u = u.DeepCopy()
	for path, v := range edits {
		p, err := fieldpath.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		parent, ok := p[:len(p)-1].Get(u.Object)
		m, isMap := parent.(map[string]any)
		if !ok || !isMap {
			t.Fatalf("%s has no parent in the object", path)
		}
		if v == Absent {
			delete(m, *p[len(p)-1].FieldName)
			continue
		}
		m[*p[len(p)-1].FieldName] = v
	}
	return u
}

// Absent removes a value.
const Absent absence = "absent"

type absence string

// Entries returns the entries of an object.
func Entries(t testing.TB, u *unstructured.Unstructured) []managedfields.Entry {
	t.Helper()
	entries, err := managedfields.Entries(u)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Path reads the text of a path.
func Path(t testing.TB, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Paths reads the texts of paths.
func Paths(t testing.TB, texts ...string) []fieldpath.Path {
	t.Helper()
	out := make([]fieldpath.Path, len(texts))
	for i, text := range texts {
		out[i] = Path(t, text)
	}
	return out
}

// ConflictPaths shows conflicts by path alone.
func ConflictPaths(conflicts []managedfields.Conflict) []string {
	var out []string
	for _, c := range conflicts {
		out = append(out, c.Path.String())
	}
	return out
}

// ChangeTexts shows changes as "kind path".
func ChangeTexts(changes []managedfields.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Kind)+" "+c.Path.String())
	}
	return out
}

// OwnerTexts shows owners as people read them.
func OwnerTexts(owners []managedfields.Owner) []string {
	var out []string
	for _, o := range owners {
		out = append(out, o.String())
	}
	return out
}

// Content returns the content of a YAML text, which need not be an object.
func Content(t testing.TB, text string) map[string]any {
	t.Helper()
	return Read(t, text).Object
}

// Set returns the field set with these paths.
func Set(t testing.TB, texts ...string) *fieldpath.Set {
	t.Helper()
	s := &fieldpath.Set{}
	for _, p := range Paths(t, texts...) {
		fieldpath.Insert(s, p)
	}
	return s
}

// The managed fields of these stories are a real API server's (1.36).

// web is a Deployment that k8sconnect applied. Then kubectl scaled it, kubectl
// set the image, an injector put a sidecar before the container, and the
// controller wrote its status.
const (
	Web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: prod, labels: {app.kubernetes.io/name: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: app:1.1
        args: [--verbose]
        ports: [{containerPort: 8080}]
`
	WebLive = `
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: "2026-11-21T02:34:57Z"
  generation: 4
  labels: {app.kubernetes.io/name: web}
  managedFields:
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:labels: {f:app.kubernetes.io/name: {}}}
      f:spec:
        f:selector: {}
        f:template:
          f:metadata: {f:labels: {f:app: {}}}
          f:spec:
            f:containers:
              k:{"name":"app"}:
                .: {}
                f:args: {}
                f:name: {}
                f:ports:
                  k:{"containerPort":8080,"protocol":"TCP"}: {.: {}, f:containerPort: {}}
    manager: k8sconnect
    operation: Apply
    time: "2026-11-21T02:34:57Z"
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:replicas: {}}}
    manager: kubectl
    operation: Update
    subresource: scale
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {f:image: {}}}}}}}
    manager: kubectl-set
    operation: Update
    time: "2026-11-21T02:35:01Z"
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:spec:
        f:template:
          f:spec:
            f:containers:
              k:{"name":"sidecar"}: {.: {}, f:image: {}, f:name: {}, f:resources: {}}
    manager: injector
    operation: Update
    time: "2026-11-21T02:35:02Z"
  - apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {f:status: {f:replicas: {}}}
    manager: kube-controller-manager
    operation: Update
    subresource: status
    time: "2026-11-21T02:35:02Z"
  name: web
  namespace: prod
  resourceVersion: "1272"
  uid: cc653f20-ec2e-4f77-8974-43e82656d73a
spec:
  progressDeadlineSeconds: 600
  replicas: 5
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}, type: RollingUpdate}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {image: "proxy:1", name: sidecar, resources: {}}
      - args: [--verbose]
        image: app:1.2
        imagePullPolicy: IfNotPresent
        name: app
        ports: [{containerPort: 8080, protocol: TCP}]
        resources: {}
      restartPolicy: Always
      securityContext: {}
status: {replicas: 5}
`
)

// dns is a Service that k8sconnect applied; the manifest leaves the protocol of
// one port to the server.
const (
	Dns = `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: prod}
spec:
  selector: {app: dns}
  ports:
  - {name: dns, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53}
`
	DnsLive = `
apiVersion: v1
kind: Service
metadata:
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:spec:
        f:ports:
          k:{"port":53,"protocol":"TCP"}: {.: {}, f:name: {}, f:port: {}}
          k:{"port":53,"protocol":"UDP"}: {.: {}, f:name: {}, f:port: {}, f:protocol: {}}
        f:selector: {}
    manager: k8sconnect
    operation: Apply
    time: "2026-11-21T02:34:58Z"
  name: dns
  namespace: prod
spec:
  clusterIP: 10.96.22.91
  ports:
  - {name: dns, port: 53, protocol: UDP, targetPort: 53}
  - {name: dns-tcp, port: 53, protocol: TCP, targetPort: 53}
  selector: {app: dns}
`
)

// conf is a ConfigMap that k8sconnect applied; an operator added a finalizer and
// a label.
const (
	Conf = `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf, namespace: prod, finalizers: [example.com/ours]}
data: {app.conf: "a=1\n", empty: ""}
`
	ConfLive = `
apiVersion: v1
kind: ConfigMap
data: {app.conf: "a=1\n", empty: ""}
metadata:
  finalizers: [example.com/theirs, example.com/ours]
  labels: {owner: operator}
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:data: {f:app.conf: {}, f:empty: {}}
      f:metadata: {f:finalizers: {'v:"example.com/ours"': {}}}
    manager: k8sconnect
    operation: Apply
    time: "2026-11-21T02:34:58Z"
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:finalizers: {'v:"example.com/theirs"': {}}
        f:labels: {.: {}, f:owner: {}}
    manager: operator
    operation: Update
    time: "2026-11-21T02:35:02Z"
  name: conf
  namespace: prod
`
)

// db is a Secret that k8sconnect applied with stringData.
const (
	Db = `
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: prod}
stringData: {password: hunter2}
`
	DbLive = `
apiVersion: v1
kind: Secret
data: {password: aHVudGVyMg==}
metadata:
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {f:stringData: {f:password: {}}}
    manager: k8sconnect
    operation: Apply
    time: "2026-11-21T02:34:58Z"
  name: db
  namespace: prod
type: Opaque
`
)

// OldLive is a ConfigMap that kubectl applied on the client side; an operator added
// a key.
const OldLive = `
apiVersion: v1
kind: ConfigMap
data: {dropped: "2", kept: "1", theirs: "3"}
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","data":{"dropped":"2","kept":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"labels":{"tier":"a"},"name":"old","namespace":"prod"}}
  labels: {tier: a}
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:data: {.: {}, f:dropped: {}, f:kept: {}}
      f:metadata:
        f:annotations: {.: {}, f:kubectl.kubernetes.io/last-applied-configuration: {}}
        f:labels: {.: {}, f:tier: {}}
    manager: kubectl-client-side-apply
    operation: Update
    time: "2026-11-21T02:35:25Z"
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {f:data: {f:theirs: {}}}
    manager: operator
    operation: Update
    time: "2026-11-21T02:35:37Z"
  name: old
  namespace: prod
`

// Entry writes one entry of managed fields for small stories.
func Entry(manager, operation, fields string) string {
	return `{manager: ` + manager + `, operation: ` + operation + `, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: ` + fields + `}`
}

// App is the path of the container in Web.
const App = `.spec.template.spec.containers[name="app"]`

// Thing returns an object of a kind that only field sets describe, with these entries and data.
func Thing(t testing.TB, lastApplied string, entries []string, data string) *unstructured.Unstructured {
	t.Helper()
	list := strings.Join(append([]string{"managedFields:"}, entries...), "\n  - ")
	u := Read(t, "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n  "+list+"\ndata: "+data)
	if lastApplied != "" {
		u.SetAnnotations(map[string]string{managedfields.LastAppliedAnnotation: lastApplied})
	}
	return u
}
