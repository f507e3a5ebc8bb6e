package owners_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// fakeReader holds objects, and the kinds for which reads fail.
type fakeReader struct {
	objects []string
	errs    map[string]error // by kind, or "list KIND"
}

func (f fakeReader) each(visit func(*unstructured.Unstructured)) {
	for _, text := range f.objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			panic(err)
		}
		visit(u)
	}
}

func (f fakeReader) Read(_ context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	if err := f.errs[ref.GVK.Kind]; err != nil {
		return nil, err
	}
	var found *unstructured.Unstructured
	f.each(func(u *unstructured.Unstructured) {
		if object.RefOf(u) == ref {
			found = u
		}
	})
	if found == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(ref.GVK.Kind) + "s"}, ref.Name)
	}
	return found, nil
}

func (f fakeReader) Select(_ context.Context, gvk schema.GroupVersionKind, which object.Selection, _ string, visit func(*unstructured.Unstructured)) error {
	if err := cmp.Or(f.errs[gvk.Kind], f.errs["list "+gvk.Kind]); err != nil {
		return err
	}
	f.each(func(u *unstructured.Unstructured) {
		selector, err := labels.Parse(which.Labels)
		if err != nil {
			panic(err)
		}
		labelled := selector.Matches(labels.Set(u.GetLabels()))
		inside := which.Namespace == "" || which.Namespace == u.GetNamespace()
		if u.GroupVersionKind() == gvk && labelled && inside && (which.Name == "" || which.Name == u.GetName()) {
			visit(u)
		}
	})
	return nil
}

const (
	configMap = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: prod
  uid: u-1
  managedFields:
  - {manager: flux, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}, "f:gone": {}}}}
data: {a: x, b: "y"}`
	node = `
apiVersion: v1
kind: Node
metadata: {name: n1, uid: u-2}
spec: {unschedulable: true}`
	secret = `
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: prod, uid: u-3}
data: {password: b3BlbnNlc2FtZQ==}`
	record = `
apiVersion: ownership.k8sconnect.io/v1alpha1
kind: OwnershipRecord
metadata: {name: configmap-u-1, namespace: prod}
object: {kind: ConfigMap, name: web, uid: u-1}
dropped: 1
lost: 2
transitions:
- {path: .data.b, kind: released, from: [{manager: helm, operation: Update}], to: [], cut: true, count: 1, first: "2026-01-02T03:04:05Z", last: "2026-01-02T03:04:05Z"}
- {path: .data.a, kind: taken, from: [{manager: helm, operation: Update}], to: [{manager: flux, operation: Apply}], forced: true, user: jane, count: 2, first: "2026-01-02T03:04:05Z", last: "2026-01-03T03:04:05Z"}`
	nodeRecord = `
apiVersion: ownership.k8sconnect.io/v1alpha1
kind: OwnershipRecord
metadata: {name: node-u-2, namespace: webhook-system}
transitions: [{path: .spec.unschedulable, kind: taken, from: [], to: [], gap: true, count: 1, first: null, last: null}]`
	tracker = `
apiVersion: v1
kind: ConfigMap
metadata: {name: tracker, namespace: webhook-system, labels: {k8sconnect.io/tracker: "true"}}
data: {coverage: '{"since":"2026-01-01T00:00:00Z","gaps":[{"from":"2026-01-02T00:00:00Z","to":"2026-01-02T01:00:00Z"}],"behind":{"changes":3,"since":"2026-01-04T00:00:00Z"}}', checkpoint: '{"resources":{"pods":{"version":"7","time":"2026-01-05T00:00:30Z"},"nodes":{"version":"7","time":"2026-01-05T00:00:00Z"}}}', scope: '{"kinds":{"ConfigMap":"2026-01-01T00:00:00Z","Node":"2026-01-01T00:00:00Z"},"never":["Event"],"excludedKinds":["Pod","Secret"],"excludedNamespaces":["kube-system","loud","webhook-system"],"refused":["Bird.example.com"]}'}`
)

// public is the copy that the webhook of tracker publishes. unfilled is the empty object that the
// chart created for it.
var (
	public = strings.NewReplacer(
		`{name: tracker, namespace: webhook-system, labels: {k8sconnect.io/tracker: "true"}}`, "{name: k8sconnect-history, namespace: kube-public}",
		"\ndata: {", "\ndata: {namespace: webhook-system, ",
	).Replace(tracker)
	unfilled = "{apiVersion: v1, kind: ConfigMap, metadata: {name: k8sconnect-history, namespace: kube-public}}"
)

// viewer may read objects, and list ConfigMaps in one namespace only.
func viewer(objects ...string) fakeReader {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
	return fakeReader{objects: objects, errs: map[string]error{"list ConfigMap": forbidden}}
}

// noted is a time just after the webhook of tracker has written its note.
func noted() time.Time { return time.Date(2026, 1, 5, 0, 1, 0, 0, time.UTC) }

const status = `
apiVersion: v1
kind: Node
metadata:
  name: n2
  uid: u-4
  labels: {a: b}
  managedFields:
  - {manager: kubelet, operation: Update, subresource: status, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:phase": {}}}}
  - {manager: kubelet, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}
status: {phase: x}`

// with returns a cluster with the webhook and an object.
func with(object string) fakeReader { return fakeReader{objects: []string{object, tracker}} }

func other(apiVersion, kind, namespace string) string {
	return "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: x, namespace: " + namespace + ", uid: u-5, labels: {a: b}}}"
}

func ref(kind, namespace, name string) object.Ref {
	return object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: namespace, Name: name}
}

// reported runs an engine and returns the events that it emits.
func reported(t *testing.T, e owners.Engine, refs ...object.Ref) ([]event.Owned, error) {
	t.Helper()
	var all []event.Owned
	err := e.Run(t.Context(), refs, func(e event.Event) { all = append(all, e.(event.Owned)) })
	return all, err
}

func parsed(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPath(t *testing.T) {
	tests := map[string]struct {
		path           string
		fields, absent []string
		hint           string // of the error
	}{
		"a field":                 {path: ".data.a", fields: []string{".data.a"}},
		"a parent of fields":      {path: ".data", fields: []string{".data"}, absent: []string{".data.gone"}},
		"owned but absent":        {path: ".data.gone", absent: []string{".data.gone"}},
		"a typo":                  {path: ".dtaa.a", hint: "did you mean .data.a?"},
		"the hidden status":       {path: ".b", hint: "did you mean .data.b?"},
		"no similar path":         {path: ".spec.template.spec.nodeName", hint: ""},
		"a path in managedFields": {path: ".metadata.managedFields", hint: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := owners.Engine{Reader: fakeReader{objects: []string{configMap}}, Path: parsed(t, test.path)}
			got, err := reported(t, e, ref("ConfigMap", "prod", "web"))
			if test.fields == nil && test.absent == nil {
				wrong, ok := errors.AsType[*fieldpath.NotFoundError](err)
				if !ok || len(got) > 0 {
					t.Fatalf("got %v, %v", got, err)
				}
				if wrong.Hint() != test.hint {
					t.Errorf("hint %q, want %q", wrong.Hint(), test.hint)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.fields, paths(got[0].Fields)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(test.absent, paths(got[0].Absent)); diff != "" {
				t.Errorf("absent (-want +got):\n%s", diff)
			}
		})
	}
}

func paths(nodes []managedfields.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Path.String())
	}
	return out
}

func TestHistory(t *testing.T) {
	objects := fakeReader{objects: []string{configMap, node, record, nodeRecord, tracker}}
	noKind := &meta.NoKindMatchError{GroupKind: ownership.RecordGVK().GroupKind()}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
	broken := strings.Replace(record, "dropped: 1", "dropped: many", 1)
	web, n1 := ref("ConfigMap", "prod", "web"), ref("Node", "", "n1")
	tests := map[string]struct {
		reader  fakeReader
		path    string
		ref     object.Ref
		want    []string // paths
		unknown string   // of the coverage
		err     string   // of the history
		later   time.Duration
	}{
		"all":                 {reader: objects, ref: web, want: []string{".data.b", ".data.a"}},
		"of a path":           {reader: objects, ref: web, path: ".data.a", want: []string{".data.a"}},
		"of a parent path":    {reader: objects, ref: web, path: ".data", want: []string{".data.b", ".data.a"}},
		"without a namespace": {reader: objects, ref: n1, want: []string{".spec.unschedulable"}},
		"of a parent path, of a cluster-scoped object": {reader: objects, ref: n1, path: ".spec", want: []string{".spec.unschedulable"}},
		"no record":                      {reader: fakeReader{objects: []string{configMap, tracker}}, ref: web},
		"no record, without a namespace": {reader: fakeReader{objects: []string{node, tracker}}, ref: n1},
		"not watched": {
			reader: fakeReader{objects: []string{configMap}}, ref: web,
			err: "the webhook has not recorded what it watches; is it running?",
		},
		"no longer watched": {
			reader: fakeReader{objects: []string{configMap, record}}, ref: web, want: []string{".data.b", ".data.a"},
			unknown: "the webhook has not recorded what it watches; is it running?",
		},
		"the webhook's namespace is not readable": {
			reader: fakeReader{objects: []string{node}, errs: map[string]error{"ConfigMap": forbidden}}, ref: n1,
			err: "no permission to list ConfigMaps in all namespaces, where the webhook records what it watches",
		},
		"not readable, with a record": {
			reader: fakeReader{objects: []string{node, nodeRecord}, errs: map[string]error{"ConfigMap": forbidden}}, ref: n1, want: []string{".spec.unschedulable"},
			unknown: "no permission to list ConfigMaps in all namespaces, where the webhook records what it watches",
		},
		"the webhook publishes what it watches":                    {reader: viewer(configMap, public), ref: web},
		"published, and the object is excluded":                    {reader: viewer(other("v1", "ConfigMap", "webhook-system"), public), ref: ref("ConfigMap", "webhook-system", "x"), err: "the webhook never tracks its own namespace, webhook-system"},
		"nothing published yet":                                    {reader: fakeReader{objects: []string{configMap, unfilled, tracker}}, ref: web},
		"nothing published yet, without permission to list others": {reader: viewer(configMap, unfilled), ref: web, err: "no permission to list ConfigMaps in all namespaces"},
		"nothing published for an hour": {
			reader: viewer(configMap, public), ref: web, later: time.Hour,
			err: "nothing is recorded, and the webhook has recorded no progress since 2026-01-05T00:00:30Z; is it running?",
		},
		"coverage that is not JSON": {
			reader: fakeReader{objects: []string{configMap, strings.Replace(tracker, `{"since"`, `x{"since"`, 1)}}, ref: web,
			err: "cannot read the webhook's note in configmap/tracker -n webhook-system: invalid character 'x' looking for beginning of value",
		},
		"a copy from another cluster": {
			reader: fakeReader{objects: []string{configMap, strings.Replace(tracker, `'{"resources"`, `'{"of":"u-9","resources"`, 1)}}, ref: web,
			err: "the webhook has not recorded what it watches; is it running?",
		},
		"the webhook is down": {
			reader: fakeReader{objects: []string{configMap, tracker}}, ref: web, later: time.Hour,
			err: "nothing is recorded, and the webhook has recorded no progress since 2026-01-05T00:00:30Z; is it running?",
		},
		"last note two minutes ago": {reader: fakeReader{objects: []string{configMap, tracker}}, ref: web, later: 2 * time.Minute},
		"few changes, and a recent checkpoint": {
			reader: fakeReader{objects: []string{configMap, strings.Replace(tracker,
				`'{"resources":{"pods":{"version":"7","time":"2026-01-05T00:00:30Z"}`, `'{"heard":"2026-01-05T00:00:30Z","resources":{"pods":{"version":"7","time":"2026-01-04T00:00:00Z"}`, 1)}}, ref: web, later: 2 * time.Minute,
		},
		"the webhook is down, with a record": {
			reader: objects, ref: web, later: time.Hour, want: []string{".data.b", ".data.a"},
		},
		"an excluded kind":             {reader: with(secret), ref: ref("Secret", "prod", "login"), err: "the webhook does not track Secrets (its chart's value tracking.secrets)"},
		"a kind that is never tracked": {reader: with(other("v1", "Event", "prod")), ref: ref("Event", "prod", "x"), err: "the webhook never tracks the kind Event"},
		"a kind excluded by the chart": {reader: with(other("v1", "Pod", "prod")), ref: ref("Pod", "prod", "x"), err: "the webhook excludes the kind Pod (its chart's value exclude.kinds)"},
		"a kind that was not listed":   {reader: with(other("v1", "Service", "prod")), ref: ref("Service", "prod", "x"), err: "the webhook does not track the kind Service: it cannot be watched, or is new"},
		"a kind that may not be listed": {
			reader: with(other("example.com/v1", "Bird", "prod")), err: "the webhook is not allowed to list and watch the kind Bird.example.com",
			ref: object.Ref{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Bird"}, Namespace: "prod", Name: "x"},
		},
		"kube-system":                       {reader: with(other("v1", "ConfigMap", "kube-system")), ref: ref("ConfigMap", "kube-system", "x"), err: "the webhook never tracks the namespace kube-system"},
		"the webhook's own namespace":       {reader: with(other("v1", "ConfigMap", "webhook-system")), ref: ref("ConfigMap", "webhook-system", "x"), err: "the webhook never tracks its own namespace, webhook-system"},
		"a namespace excluded by the chart": {reader: with(other("v1", "ConfigMap", "loud")), ref: ref("ConfigMap", "loud", "x"), err: "the webhook excludes the namespace loud (its chart's value exclude.namespaces)"},
		"the status": {
			reader: with(status), ref: ref("Node", "", "n2"), path: ".status",
			err: "the webhook does not record writes through the status subresource",
		},
		"the status and other fields":       {reader: with(status), ref: ref("Node", "", "n2")},
		"a field that cannot have an owner": {reader: with(status), ref: ref("Node", "", "n2"), path: ".metadata.name"},
		"not installed": {
			reader: fakeReader{objects: []string{configMap}, errs: map[string]error{ownership.RecordKind: noKind}}, ref: web,
			err: "k8sconnect's webhook, which records the history, is not installed",
		},
		"no permission": {
			reader: fakeReader{objects: []string{node}, errs: map[string]error{ownership.RecordKind: forbidden}}, ref: n1,
			err: "x is forbidden: no",
		},
		"a broken record": {
			reader: fakeReader{objects: []string{configMap, broken}}, ref: web,
			err: "read ownershiprecord.ownership.k8sconnect.io/configmap-u-1 -n prod: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := owners.Engine{Reader: test.reader, History: true, Now: func() time.Time { return noted().Add(test.later) }}
			if test.path != "" {
				e.Path = parsed(t, test.path)
			}
			got, err := reported(t, e, test.ref)
			if len(got) != 1 || got[0].History == nil || errors.Is(err, owners.ErrHistoryUnknown) != (test.err != "") {
				t.Fatalf("got %v, %v", got, err)
			}
			h := got[0].History
			if test.err != "" {
				if h.Err == nil || !strings.HasPrefix(h.Err.Error(), test.err) {
					t.Errorf("got the error %v, want %s", h.Err, test.err)
				}
				return
			}
			var about []string
			for _, tr := range h.Transitions {
				about = append(about, tr.Path)
			}
			if diff := gocmp.Diff(test.want, about); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if h.Coverage.Unknown != test.unknown || h.Coverage.Since.IsZero() != (test.unknown != "") {
				t.Errorf("coverage %+v, want %q", h.Coverage, test.unknown)
			}
			if h.Coverage.Stale != (test.later > 3*time.Minute) {
				t.Errorf("stale: %t", h.Coverage.Stale)
			}
			if noted := time.Date(2026, 1, 5, 0, 0, 30, 0, time.UTC); test.unknown == "" && !h.Coverage.Until.Equal(noted) {
				t.Errorf("coverage is until %s, want %s", h.Coverage.Until, noted)
			}
		})
	}
}

func TestCompleteHistory(t *testing.T) {
	e := owners.Engine{Reader: fakeReader{objects: []string{configMap, record, tracker}}, History: true, Now: noted}
	got, err := reported(t, e, ref("ConfigMap", "prod", "web"))
	if err != nil {
		t.Fatal(err)
	}
	day := func(day, hour int) time.Time { return time.Date(2026, 1, day, hour, 0, 0, 0, time.UTC) }
	at := day(2, 3).Add(4*time.Minute + 5*time.Second)
	helm, flux := managedfields.Owner{Manager: "helm", Operation: "Update"}, managedfields.Owner{Manager: "flux", Operation: "Apply"}
	want := &event.History{
		Transitions: []event.Transition{
			{Path: ".data.b", Kind: "released", From: []managedfields.Owner{helm}, To: []managedfields.Owner{}, Cut: true, Count: 1, First: at, Last: at},
			{
				Path: ".data.a", Kind: "taken", From: []managedfields.Owner{helm}, To: []managedfields.Owner{flux},
				Forced: true, User: "jane", Count: 2, First: at, Last: at.AddDate(0, 0, 1),
			},
		},
		Dropped: 1,
		Lost:    2,
		Coverage: event.Coverage{
			Since: day(1, 0), Until: day(5, 0).Add(30 * time.Second), Gaps: []event.Gap{{From: day(2, 0), To: day(2, 1)}}, Behind: &event.Behind{Changes: 3, Since: day(4, 0)},
		},
	}
	if diff := gocmp.Diff(want, got[0].History); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The history of an object does not include a gap that ended before the object was created.
func TestGapsBeforeCreationAreOmitted(t *testing.T) {
	for created, want := range map[string]int{"2026-01-02T00:30:00Z": 1, "2026-01-02T01:00:00Z": 0, "2026-01-03T00:00:00Z": 0} {
		young := strings.Replace(configMap, "metadata:\n", "metadata:\n  creationTimestamp: '"+created+"'\n", 1)
		e := owners.Engine{Reader: fakeReader{objects: []string{young, record, tracker}}, History: true, Now: noted}
		got, err := reported(t, e, ref("ConfigMap", "prod", "web"))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got[0].History.Coverage.Gaps); n != want {
			t.Errorf("created at %s: %d gaps", created, n)
		}
	}
}

// A gap concerns the history of an object only if it names the object or its kind. Older webhooks name
// neither.
func TestGapsOfOtherObjectsAreOmitted(t *testing.T) {
	for of, want := range map[string]int{
		``: 1, `,"of":{"ConfigMap":[]}`: 1, `,"of":{"ConfigMap":["0","u-1"],"Pod":["9"]}`: 1,
		`,"of":{"ConfigMap":["u-2"]}`: 0, `,"of":{"Pod":[]}`: 0, `,"of":{}`: 0,
	} {
		limited := strings.Replace(tracker, `"to":"2026-01-02T01:00:00Z"`, `"to":"2026-01-02T01:00:00Z"`+of, 1)
		e := owners.Engine{Reader: fakeReader{objects: []string{configMap, record, limited}}, History: true, Now: noted}
		got, err := reported(t, e, ref("ConfigMap", "prod", "web"))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got[0].History.Coverage.Gaps); n != want {
			t.Errorf("%s: %d gaps, want %d", of, n, want)
		}
	}
}

// Edge case 35: an object that cannot be shown does not hide the others.
func TestMissingObjectDoesNotHideOthers(t *testing.T) {
	e := owners.Engine{Reader: fakeReader{objects: []string{configMap, node}}}
	got, err := reported(t, e, ref("ConfigMap", "prod", "nope"), ref("ConfigMap", "prod", "web"), ref("Node", "", "n1"))
	if !apierrors.IsNotFound(err) || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	if got[0].Unmanaged || !got[1].Unmanaged || got[0].History != nil {
		t.Errorf("got %+v", got)
	}
}

// Edge case 41: no value of a Secret is shown.
func TestSecretValuesAreNotShown(t *testing.T) {
	got, err := reported(t, owners.Engine{Reader: fakeReader{objects: []string{secret}}}, ref("Secret", "prod", "login"))
	if err != nil {
		t.Fatal(err)
	}
	managedfields.Walk(got[0].Fields, func(n managedfields.Node) {
		if text, _ := yaml.Marshal(n.Value); strings.Contains(string(text), "b3Blbn") {
			t.Errorf("value of a Secret is shown at %s: %s", n.Path, text)
		}
	})
}
