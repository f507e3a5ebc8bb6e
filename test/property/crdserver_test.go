package property_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Server is an API server in memory for one custom resource, Thing. It decides with the code of a
// real one: apimachinery's field manager for custom resources, and the pruning, defaulting and
// validation of the API extensions server. It shares no code with what it tests, and more than one
// goroutine may call it. Go types, admission and storage are tested on a real server, in test/e2e.
type Server struct {
	definition *apiextensionsv1.CustomResourceDefinition
	versions   map[string]*version

	mu      sync.Mutex
	objects map[types.NamespacedName]*unstructured.Unstructured // at v1
	counter int
	writes  int
}

// newServer returns a server without objects.
func newServer() (*Server, error) {
	crd, versions, err := read()
	if err != nil {
		return nil, err
	}
	return &Server{definition: crd, versions: versions, objects: map[types.NamespacedName]*unstructured.Unstructured{}}, nil
}

// Empty returns a server of the same kind without objects, at no cost.
func (s *Server) Empty() *Server {
	return &Server{definition: s.definition, versions: s.versions, objects: map[types.NamespacedName]*unstructured.Unstructured{}}
}

// Copy returns a server with copies of all objects.
func (s *Server) Copy() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.Empty()
	out.counter = s.counter
	for name, u := range s.objects {
		out.objects[name] = u.DeepCopy()
	}
	return out
}

// Writes returns the number of accepted requests, without dry runs.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Apply is a server-side apply.
func (s *Server) Apply(_ context.Context, _ object.Kind, manifest *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	return s.write(manifest, how.DryRun, func(v *version, live *unstructured.Unstructured, sent *unstructured.Unstructured) (runtime.Object, error) {
		if !s.exists(manifest) {
			how.Force = false
		}
		version := sent.GetResourceVersion()
		sent.SetResourceVersion("")
		out, err := v.managers[""].Apply(live, sent, how.Manager, how.Force)
		if err == nil && version != "" {
			out.(*unstructured.Unstructured).SetResourceVersion(version)
		}
		return out, err
	})
}

// Update is a PUT of the object, or of its status.
func (s *Server) Update(_ context.Context, _ object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	return s.update(u, how, "")
}

// UpdateStatus is a PUT of the status.
func (s *Server) UpdateStatus(u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	return s.update(u, how, "status")
}

func (s *Server) update(u *unstructured.Unstructured, how object.Write, subresource string) (*unstructured.Unstructured, error) {
	return s.write(u, how.DryRun, func(v *version, live *unstructured.Unstructured, sent *unstructured.Unstructured) (runtime.Object, error) {
		v.decode(sent.Object)
		asGoType(sent.Object)
		kept, from := "status", live.Object
		if subresource == "status" {
			kept, from = "status", sent.Object
			whole := live.DeepCopy()
			whole.SetManagedFields(sent.GetManagedFields())
			whole.SetResourceVersion(sent.GetResourceVersion())
			sent = whole
		}
		if status, ok := from[kept]; ok {
			sent.Object[kept] = runtime.DeepCopyJSONValue(status)
		} else {
			delete(sent.Object, kept)
		}
		return v.managers[subresource].UpdateNoErrors(live, sent, how.Manager), nil
	})
}

// SetManagedFields replaces the object's managed fields, conditional on its resource version.
func (s *Server) SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	return s.PutManagedFields(ctx, kind, live, fields, object.Write{})
}

// PutManagedFields is SetManagedFields with a manager, or as a dry run.
func (s *Server) PutManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write) (*unstructured.Unstructured, error) {
	u := live.DeepCopy()
	if err := unstructured.SetNestedSlice(u.Object, fields, "metadata", "managedFields"); err != nil {
		return nil, err
	}
	how.Manager = cmp.Or(how.Manager, "kubectl-k8sconnect")
	return s.Update(ctx, kind, u, how)
}

// change applies a request to the live object. Both objects are in the request's version, and
// change may modify them.
type change func(v *version, live, sent *unstructured.Unstructured) (runtime.Object, error)

func (s *Server) write(sent *unstructured.Unstructured, dryRun bool, do change) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, err := roundTrip(sent)
	if err != nil {
		return nil, err
	}
	name := sent.GroupVersionKind().Version
	v, ok := s.versions[name]
	if !ok {
		return nil, fmt.Errorf("version %q is not served", name)
	}
	was := s.objects[nameOf(sent)]
	live := s.at(was, name)
	if was == nil {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(sent.GroupVersionKind())
	}
	out, err := do(v, live.DeepCopy(), sent)
	if err != nil {
		return nil, err
	}
	next, err := s.settle(v, was, out.(*unstructured.Unstructured), dryRun)
	if err != nil {
		return nil, err
	}
	if !dryRun {
		s.writes++
		s.objects[nameOf(next)] = s.at(next, "v1")
	}
	return s.at(next, name), nil
}

// settle completes a write after the field manager: validation, defaults and metadata.
func (s *Server) settle(v *version, was, next *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	gvk := s.kind("v1").GVK
	next, err := roundTrip(next)
	if err != nil {
		return nil, err
	}
	if version := next.GetResourceVersion(); version != "" && (was == nil || version != was.GetResourceVersion()) {
		return nil, apierrors.NewConflict(s.kind("v1").GVR().GroupResource(), next.GetName(),
			fmt.Errorf("the object has been modified"))
	}
	if errs := validation.ValidateCustomResource(nil, next.UnstructuredContent(), v.validator); len(errs) > 0 {
		return nil, apierrors.NewInvalid(gvk.GroupKind(), next.GetName(), errs)
	}
	v.decode(next.Object)
	asGoType(next.Object)
	next.SetGroupVersionKind(gvk)
	if was == nil {
		next.SetUID(types.UID("u" + next.GetName()))
	} else {
		next.SetUID(was.GetUID())
		next.SetResourceVersion(was.GetResourceVersion())
		keepTimes(was, next)
		if reflect.DeepEqual(was.Object, next.Object) {
			return was, nil
		}
	}
	if dryRun { // an object that is not stored gets no version
		return next, nil
	}
	s.counter++
	next.SetResourceVersion(strconv.Itoa(s.counter))
	return next, nil
}

// keepTimes restores the times of unchanged entries, as the server does, so that a new time alone
// causes no write. Entries are ordered by time, so it also restores their order: the result does
// not depend on whether a second passes between two applies.
func keepTimes(was, next *unstructured.Unstructured) {
	before, after := was.GetManagedFields(), next.GetManagedFields()
	kept := 0
	for i, a := range after {
		a.Time = nil
		for _, b := range before {
			time := b.Time
			b.Time = nil
			if reflect.DeepEqual(a, b) {
				after[i].Time = time
				kept++
			}
		}
	}
	if kept == len(before) && len(before) == len(after) {
		after = before
	}
	next.SetManagedFields(after)
}

// at returns a copy of an object in a version, or nil for nil.
func (s *Server) at(u *unstructured.Unstructured, version string) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	out := u.DeepCopy()
	out.SetGroupVersionKind(s.kind(version).GVK)
	s.versions[version].decode(out.Object)
	return out
}

func (s *Server) exists(u *unstructured.Unstructured) bool { return s.objects[nameOf(u)] != nil }

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// roundTrip copies an object through JSON, like a request.
func roundTrip(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, json.Unmarshal(text, &out.Object)
}

func (s *Server) kind(version string) object.Kind {
	names := s.definition.Spec.Names
	return object.Kind{
		GVK:      schema.GroupVersionKind{Group: s.definition.Spec.Group, Version: version, Kind: names.Kind},
		Resource: names.Plural, Namespaced: true,
	}
}

// SetEntries replaces an object's managed fields unchanged.
func (s *Server) SetEntries(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.write(u, false, func(v *version, live, sent *unstructured.Unstructured) (runtime.Object, error) {
		return v.managers[""].UpdateNoErrors(live, sent, "hand"), nil
	})
}
