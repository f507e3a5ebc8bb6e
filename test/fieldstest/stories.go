// Package fieldstest contains objects with a real API server's managed fields, for tests of
// packages that read them.
package fieldstest

import (
	_ "embed" // The stories are files.
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Us is our manager in the stories.
const Us = "k8sconnect"

// Read parses an object in YAML as a client would return it: integers are int64.
func Read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u, err := parse(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return u
}

func parse(text string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.UnmarshalCaseSensitivePreserveInts(content, &u.Object)
	}
	return u, err
}

// Edited returns a copy of the object with values set at paths; nil sets null, and Absent removes
// the value.
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

// Path parses a path.
func Path(t testing.TB, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Paths parses paths.
func Paths(t testing.TB, texts ...string) []fieldpath.Path {
	t.Helper()
	out := make([]fieldpath.Path, len(texts))
	for i, text := range texts {
		out[i] = Path(t, text)
	}
	return out
}

// ConflictPaths returns the conflicts' paths.
func ConflictPaths(conflicts []managedfields.Conflict) []string {
	var out []string
	for _, c := range conflicts {
		out = append(out, c.Path.String())
	}
	return out
}

// ChangeTexts formats changes as "kind path".
func ChangeTexts(changes []managedfields.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Kind)+" "+c.Path.String())
	}
	return out
}

// OwnerTexts formats owners.
func OwnerTexts(owners []managedfields.Owner) []string {
	var out []string
	for _, o := range owners {
		out = append(out, o.String())
	}
	return out
}

// Content parses YAML, which need not be an object.
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

// The managed fields are from a real API server (1.36).
var (
	// Web is a Deployment that k8sconnect applied. Then kubectl scaled it, kubectl set the image,
	// an injector put a sidecar before the container, and the controller wrote its status.
	//go:embed web.yaml
	Web string
	//go:embed web-live.yaml
	WebLive string
	// Dns is a Service that k8sconnect applied; the manifest leaves the protocol of one port to the
	// server.
	//go:embed dns.yaml
	Dns string
	//go:embed dns-live.yaml
	DnsLive string
	// Conf is a ConfigMap that k8sconnect applied; an operator added a finalizer and a label.
	//go:embed conf.yaml
	Conf string
	//go:embed conf-live.yaml
	ConfLive string
	// Db is a Secret that k8sconnect applied with stringData.
	//go:embed db.yaml
	Db string
	//go:embed db-live.yaml
	DbLive string
	// OldLive is a ConfigMap that kubectl applied on the client side; an operator added a key.
	//go:embed old-live.yaml
	OldLive string
)

// Entry formats an entry of managed fields.
func Entry(manager, operation, fields string) string {
	return `{manager: ` + manager + `, operation: ` + operation + `, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: ` + fields + `}`
}

// App is the path of Web's container.
const App = `.spec.template.spec.containers[name="app"]`

// Thing returns an object with these entries and data, of a kind without a schema.
func Thing(t testing.TB, lastApplied string, entries []string, data string) *unstructured.Unstructured {
	t.Helper()
	list := strings.Join(append([]string{"managedFields:"}, entries...), "\n  - ")
	u := Read(t, "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n  "+list+"\ndata: "+data)
	if lastApplied != "" {
		u.SetAnnotations(map[string]string{managedfields.LastAppliedAnnotation: lastApplied})
	}
	return u
}
