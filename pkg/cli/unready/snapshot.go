package unready

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// mostRequests limits the requests to the server for the whole explanation.
const mostRequests = 600

// worthAll is the number of namespaces for which one list of all warnings replaces a list for each
// namespace.
const worthAll = 8

// snapshot answers the questions of the diagnosis from the objects that the search has read, so that
// no kind is listed twice. It asks the server for anything else.
type snapshot struct {
	diagnose.Reader
	kinds map[schema.GroupVersionKind]*listing
	// namespace is the namespace of the search; empty means all.
	namespace string
	// bad contains the namespaces of objects that are not ready.
	bad map[string]bool

	mu       sync.Mutex
	sent     int
	warnings *listing
	asked    sync.Once
}

func newSnapshot(reader diagnose.Reader, namespace string) *snapshot {
	return &snapshot{Reader: reader, namespace: namespace, kinds: map[schema.GroupVersionKind]*listing{}, bad: map[string]bool{}}
}

// listing contains objects of one kind.
type listing struct {
	objects map[string]map[string]*entry
	// complete reports whether all objects of a namespace are in the listing. An empty namespace
	// means the whole cluster.
	complete func(namespace string) bool
}

// entry is an object as JSON, without its managed fields. Decoded objects take several times as much
// memory.
type entry struct {
	ref    object.Ref
	labels labels.Set
	text   []byte
}

func newListing() *listing {
	return &listing{objects: map[string]map[string]*entry{}, complete: func(string) bool { return false }}
}

func newEntry(u *unstructured.Unstructured) (*entry, error) {
	e := &entry{ref: object.RefOf(u), labels: u.GetLabels()}
	var err error
	e.text, err = json.Marshal(diagnose.Slim(u).Object)
	return e, err
}

func (l *listing) add(e *entry) {
	if l.objects[e.ref.Namespace] == nil {
		l.objects[e.ref.Namespace] = map[string]*entry{}
	}
	l.objects[e.ref.Namespace][e.ref.Name] = e
}

// decode returns a new copy of the object, because callers may change it.
func (e *entry) decode() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(e.text); err != nil {
		return nil // It was encoded by newEntry.
	}
	return u
}

// each calls visit for the selected objects.
func (l *listing) each(sel object.Selection, selector labels.Selector, visit func(*unstructured.Unstructured)) {
	for namespace, objects := range l.objects {
		if sel.Namespace != "" && sel.Namespace != namespace {
			continue
		}
		for name, e := range objects {
			if (sel.Name == "" || sel.Name == name) && selector.Matches(e.labels) {
				visit(e.decode())
			}
		}
	}
}

func (s *snapshot) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	if l := s.kinds[gvk]; l != nil {
		if e := l.objects[namespace][name]; e != nil {
			return e.decode(), nil
		}
		if l.complete(namespace) {
			return nil, nil
		}
	}
	if !s.mayAsk() {
		return nil, diagnose.ErrNotAsked
	}
	return s.Reader.Get(ctx, gvk, namespace, name)
}

func (s *snapshot) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	if l := s.kinds[ref.GVK]; l != nil && (l.objects[ref.Namespace][ref.Name] != nil || l.complete(ref.Namespace)) {
		return l.objects[ref.Namespace][ref.Name] != nil, nil
	}
	if !s.mayAsk() {
		return false, diagnose.ErrNotAsked
	}
	return s.Reader.Exists(ctx, ref)
}

// Select answers from the snapshot if it holds all objects of the kind and namespace. It answers a question
// for the warnings of one namespace from one list of all warnings, if there are many such questions.
func (s *snapshot) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	selector, err := labels.Parse(sel.Labels)
	if err != nil {
		return err
	}
	l := s.kinds[gvk]
	if gvk == corev1.SchemeGroupVersion.WithKind("Event") && fields == warningFields && sel.Namespace != "" {
		if l = s.allWarnings(ctx); l != nil {
			fields = ""
		}
	}
	if l != nil && fields == "" && l.complete(sel.Namespace) {
		l.each(sel, selector, visit)
		return nil
	}
	if !s.mayAsk() {
		return diagnose.ErrNotAsked
	}
	return s.Reader.Select(ctx, gvk, sel, fields, visit)
}

func (s *snapshot) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	if l := s.kinds[gvk]; l != nil && sel.Labels == "" && sel.Fields == "" && l.complete(sel.Namespace) {
		var all []unstructured.Unstructured
		l.each(sel, labels.Everything(), func(u *unstructured.Unstructured) { all = append(all, *u) })
		return all, nil
	}
	if !s.mayAsk() {
		return nil, diagnose.ErrNotAsked
	}
	return s.Reader.Metadata(ctx, gvk, sel)
}

const warningFields = "type!=Normal"

// allWarnings returns the warnings in all namespaces with unready objects. It returns nil if it is
// less work to list them by namespace, or if the list failed.
func (s *snapshot) allWarnings(ctx context.Context) *listing {
	s.asked.Do(func() {
		if s.namespace != "" || len(s.bad) < worthAll || !s.mayAsk() {
			return
		}
		found := newListing()
		found.complete = func(namespace string) bool { return namespace == metav1.NamespaceDefault || s.bad[namespace] }
		err := s.Reader.Select(ctx, corev1.SchemeGroupVersion.WithKind("Event"), object.Selection{}, warningFields, func(u *unstructured.Unstructured) {
			if !found.complete(u.GetNamespace()) {
				return
			}
			if e, err := newEntry(u); err == nil {
				found.add(e)
			}
		})
		if err == nil {
			s.warnings = found
		}
	})
	return s.warnings
}

func (s *snapshot) mayAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	return s.sent <= mostRequests
}
