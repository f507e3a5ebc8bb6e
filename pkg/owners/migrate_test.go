package owners

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// raced is a server on which another client writes before the first writes of a migration arrive.
// Each time, that client adds an owner. The server rejects a write that is based on an older
// version.
type raced struct {
	live  *unstructured.Unstructured
	races int
	err   error
}

func (s *raced) Get(context.Context, object.Kind, object.Ref) (*unstructured.Unstructured, error) {
	if s.live == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "gears"}, "one")
	}
	return s.live.DeepCopy(), nil
}

func (s *raced) SetManagedFields(_ context.Context, _ object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.races > 0 {
		s.races--
		s.add("intruder-"+strconv.Itoa(s.races), "x.example/v1")
	}
	if live.GetResourceVersion() != s.live.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "gears"}, "one", errors.New("it changed"))
	}
	if err := unstructured.SetNestedSlice(s.live.Object, fields, "metadata", "managedFields"); err != nil {
		return nil, err
	}
	return s.live.DeepCopy(), nil
}

func (s *raced) add(manager, version string) {
	meta := s.live.Object["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	meta["managedFields"] = append(entries, map[string]any{
		"manager": manager, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:" + manager: map[string]any{}}},
	})
	meta["resourceVersion"] = strconv.Itoa(len(entries) + 1)
}

func gear() *raced {
	s := &raced{live: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "x.example/v1", "kind": "Gear", "metadata": map[string]any{"name": "one", "resourceVersion": "0"},
	}}}
	s.add("flux", "x.example/v1beta1")
	s.add("odd", "x.example/v1beta1")
	s.add("new", "x.example/v1")
	return s
}

func migrator(s *raced) *Migrator {
	return &Migrator{
		Server: s,
		Served: func(gvk schema.GroupVersionKind) bool { return gvk.Version == "v1" },
		Has: func(_ object.Kind, p fieldpath.Path) Knowledge {
			if p.Equal(fieldpath.Field("spec", "odd")) {
				return PathUnknown
			}
			return PathKnown
		},
	}
}

// The entry of a concurrent writer stays. An owner also stays if the version lacks one of its
// paths.
func TestMigrateWithConcurrentWrites(t *testing.T) {
	kind := object.Kind{GVK: schema.GroupVersionKind{Group: "x.example", Version: "v1", Kind: "Gear"}}
	for _, test := range []struct {
		name      string
		change    func(*raced, *Migrator)
		want      []string // manager@version
		rewritten int
		left      int
		fails     bool
		silent    bool
		lost      bool // Intruders never stop writing, and are not in want.
	}{
		{name: "undisturbed", want: []string{"flux@v1", "new@v1", "odd@v1beta1"}, rewritten: 1, left: 1},
		{
			name: "two races", change: func(s *raced, _ *Migrator) { s.races = 2 }, rewritten: 1, left: 1,
			want: []string{"flux@v1", "intruder-0@v1", "intruder-1@v1", "new@v1", "odd@v1beta1"},
		},
		{
			name: "always raced", change: func(s *raced, _ *Migrator) { s.races = math.MaxInt }, fails: true, lost: true,
			want: []string{"flux@v1beta1", "new@v1", "odd@v1beta1"},
		},
		{
			name: "dry run", change: func(_ *raced, m *Migrator) { m.DryRun = true }, rewritten: 1, left: 1,
			want: []string{"flux@v1beta1", "new@v1", "odd@v1beta1"},
		},
		{
			name: "another manager", change: func(_ *raced, m *Migrator) { m.Managers = []string{"new"} }, silent: true,
			want: []string{"flux@v1beta1", "new@v1", "odd@v1beta1"},
		},
		{
			name: "no schema", change: func(_ *raced, m *Migrator) {
				m.Has = func(object.Kind, fieldpath.Path) Knowledge { return SchemaUnknown }
			}, left: 2, want: []string{"flux@v1beta1", "new@v1", "odd@v1beta1"},
		},
		{
			name: "refused", change: func(s *raced, _ *Migrator) {
				s.err = apierrors.NewForbidden(schema.GroupResource{Resource: "gears"}, "one", errors.New("no"))
			}, fails: true, left: 1, want: []string{"flux@v1beta1", "new@v1", "odd@v1beta1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := gear()
			m := migrator(server)
			if test.change != nil {
				test.change(server, m)
			}
			var reported event.Migrated
			var any bool
			synctest.Test(t, func(t *testing.T) { // There are pauses between attempts.
				reported, any = m.Migrate(t.Context(), kind, object.Ref{GVK: kind.GVK, Name: "one"})
			})
			if any == test.silent || len(reported.Rewritten) != test.rewritten || len(reported.Left) != test.left || (reported.Err != nil) != test.fails {
				t.Errorf("told %+v", reported)
			}
			entries, err := managedfields.Entries(server.live)
			if err != nil {
				t.Fatal(err)
			}
			lost, is := errors.AsType[*retry.LostError](reported.Err)
			if is != test.lost {
				t.Errorf("got error %v", reported.Err)
			}
			var got []string
			for _, e := range entries {
				if is && strings.HasPrefix(e.Manager, "intruder-") {
					lost.Attempts--
					continue
				}
				_, version, _ := strings.Cut(e.APIVersion, "/")
				got = append(got, e.Manager+"@"+version)
				if want := fieldpath.Field("spec", e.Manager); !fieldpath.Has(e.Fields, want) || e.Fields.Size() != 1 {
					t.Errorf("entry of %s has fields %v", e.Manager, e.Fields)
				}
			}
			if is && lost.Attempts != 0 {
				t.Errorf("the error reports %d attempts more than there were concurrent writes", lost.Attempts)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("owners %v, want %v", got, test.want)
			}
		})
	}
	gone := &raced{}
	if _, any := migrator(gone).Migrate(t.Context(), kind, object.Ref{GVK: kind.GVK, Name: "one"}); any {
		t.Error("Migrate reports an object that was deleted")
	}
}
