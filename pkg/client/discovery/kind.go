package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Kind finds out how the server serves a kind. For Kubernetes' own kinds, it trusts the cache on
// disk; if the cache lacks such a kind, Kind refills the cache, but only once per run. For custom
// kinds, it asks the server, because they may change before the cache expires. It requests only the
// kind's group version, so an API whose server is down affects only its own kinds (edge case 21).
//
// The error is a *NoKindError if the server does not serve the kind. It is an *KindUnknownError if
// only the server behind the kind does not answer (edge case 20). It is an Unreachable error if the
// server does not say what it serves.
func (d *Discovery) Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	return d.kind(ctx, gvk, d.listedNow)
}

// KindOnce is like Kind, but for many kinds. It asks the server only once about each group version.
func (d *Discovery) KindOnce(ctx context.Context) func(context.Context, schema.GroupVersionKind) (object.Kind, error) {
	lists := once(func(gv schema.GroupVersion) func() (*metav1.APIResourceList, error) {
		return sync.OnceValues(func() (*metav1.APIResourceList, error) { return d.listed(ctx, gv) })
	})
	return func(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
		return d.kind(ctx, gvk, func(_ context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) { return lists(gv)() })
	}
}

func (d *Discovery) kind(ctx context.Context, gvk schema.GroupVersionKind, list lister) (object.Kind, error) {
	if kind := d.known.kinds.get(gvk); kind.Resource != "" {
		return kind, nil
	}
	kind, sure, err := d.remembered(ctx, gvk)
	if err == nil && !sure {
		kind, _, err = d.live(ctx, gvk, list)
	}
	if err == nil {
		d.Know(kind, false)
	}
	return kind, err
}

// Remembered returns a kind from the cache. sure is false for a custom kind that was cached before
// this run. Kind would ask the server about such a kind. If the cache lacks the kind, the error is
// a *NoKindError, but Kind may still find it.
func (d *Discovery) Remembered(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	if kind := d.known.kinds.get(gvk); kind.Resource != "" {
		return kind, true, nil
	}
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return object.Kind{}, false, err
	}
	defer unlock()
	return d.cached(ctx, gvk)
}

// remembered returns a kind from the cache. If a cache from before this run lacks the kind,
// remembered refills the cache, but only once per run.
func (d *Discovery) remembered(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	unlock, err := d.known.lock(ctx)
	if err != nil {
		return object.Kind{}, false, err
	}
	defer unlock()
	kind, sure, err = d.cached(ctx, gvk)
	if errors.As(err, new(*NoKindError)) && !d.known.renewed && !d.cache.fresh() {
		d.known.renewed = true
		d.cache.distrust()
		return d.cached(ctx, gvk)
	}
	return kind, sure, err
}

// cached returns a kind from the cache, and fills an empty cache first. sure is false for custom
// kinds that were cached before this run.
func (d *Discovery) cached(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	if d.cache.known() == nil {
		if _, err := d.everything(ctx); err != nil {
			return object.Kind{}, false, err
		}
	}
	sure = object.IsBuiltIn(gvk.Group) || d.cache.fresh()
	list, err := d.list(ctx, gvk.GroupVersion())
	switch {
	case errors.As(err, new(discovery.StaleGroupVersionError)):
		return object.Kind{}, sure, &NoKindError{GVK: gvk, Err: errDeadAPI}
	case apierrors.IsNotFound(err), err == nil && list == nil:
		return object.Kind{}, sure, &NoKindError{GVK: gvk}
	case err != nil:
		return object.Kind{}, sure, ofKind(gvk, err)
	}
	kind, err = find(list, gvk)
	return kind, sure, err
}

var errDeadAPI = errors.New("the server behind this API does not answer")

func find(list *metav1.APIResourceList, gvk schema.GroupVersionKind) (object.Kind, error) {
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return object.Kind{}, &NoKindError{GVK: gvk, Near: nearKind(list, gvk)}
	}
	r := list.APIResources[i]
	return object.Kind{GVK: gvk, Resource: r.Name, ShortNames: r.ShortNames, Namespaced: r.Namespaced, Verbs: r.Verbs}, nil
}

func (d *Discovery) live(ctx context.Context, gvk schema.GroupVersionKind, list lister) (object.Kind, *metav1.APIResourceList, error) {
	l, err := list(ctx, gvk.GroupVersion())
	if err != nil {
		return object.Kind{}, nil, ofKind(gvk, err)
	}
	kind, err := find(l, gvk)
	return kind, l, err
}

// A lister returns an empty list if the server does not serve the group version.
type lister = func(context.Context, schema.GroupVersion) (*metav1.APIResourceList, error)

// listedNow requests the kinds of a group version. Concurrent callers share one request. If that
// request fails, each of the other callers sends its own, because the shared request may have
// failed only because its caller was interrupted.
func (d *Discovery) listedNow(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	first := false
	l, err, _ := d.asking.Do(gv.String(), func() (any, error) {
		first = true
		return d.listed(ctx, gv)
	})
	if err != nil && !first {
		return d.listed(ctx, gv)
	}
	return l.(*metav1.APIResourceList), err
}

func (d *Discovery) listed(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	err := d.requests.Do(ctx, transport.Request{Ref: ofGroup(gv), Bulk: true, Patience: forKinds}, func(ctx context.Context) error {
		body, err := transport.Read(ctx, d.rest.Get().AbsPath(transport.GroupPath(gv.Group, gv.Version)...))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, list)
	})
	if apierrors.IsNotFound(err) {
		return &metav1.APIResourceList{}, nil
	}
	return list, err
}

// mostDefinitions limits how many CRDs of a group are read to find a kind.
const mostDefinitions = 10

func (d *Discovery) definitionOf(ctx context.Context, gvk schema.GroupVersionKind) (string, error) {
	names, err := d.definitionsOf(ctx, gvk.Group)
	if err != nil {
		return "", err
	}
	// The name of a CRD begins with the plural of its kind, which usually begins like the kind
	// itself: policies for Policy.
	stem := strings.ToLower(gvk.Kind)
	stem = stem[:max(1, len(stem)-1)]
	slices.SortStableFunc(names, func(a, b string) int {
		switch first, second := strings.HasPrefix(a, stem), strings.HasPrefix(b, stem); {
		case first && !second:
			return -1
		case second && !first:
			return 1
		}
		return 0
	})
	crd := definitionKind()
	for _, name := range names[:min(len(names), mostDefinitions)] {
		live, err := d.get(ctx, crd, object.Ref{GVK: crd.GVK, Name: name})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return "", err
		case defines(live, gvk) && live.GetDeletionTimestamp() == nil:
			return name, nil
		}
	}
	return "", nil
}

// definitionsOf returns the names of the group's CRDs, youngest first. The server sends a table,
// which has one short row for each CRD.
func (d *Discovery) definitionsOf(ctx context.Context, group string) ([]string, error) {
	crd := definitionKind()
	var table metav1.Table
	err := d.requests.Do(ctx, transport.Request{Ref: object.Ref{GVK: crd.GVK}, Bulk: true, Quiet: true}, func(ctx context.Context) error {
		body, err := transport.Read(ctx, d.rest.Get().AbsPath(transport.ResourcePath(crd, "")...).
			Param("includeObject", string(metav1.IncludeNone)).
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"))
		if err != nil {
			return err
		}
		table = metav1.Table{}
		switch err := json.Unmarshal(body, &table); {
		case err != nil:
			return transport.Garbled(body)
		case table.Kind != "Table":
			return transport.Wrong("it is a %s, not a table of CRDs", table.Kind)
		}
		return nil
	})
	rows := slices.DeleteFunc(table.Rows, func(row metav1.TableRow) bool {
		return len(row.Cells) == 0 || !strings.HasSuffix(cell(row, 0), "."+group)
	})
	slices.SortStableFunc(rows, func(a, b metav1.TableRow) int { return cmp.Compare(cell(b, 1), cell(a, 1)) })
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = cell(row, 0)
	}
	return names, err
}

func cell(row metav1.TableRow, column int) string {
	if column >= len(row.Cells) {
		return ""
	}
	text, _ := row.Cells[column].(string)
	return text
}

func defines(definition *unstructured.Unstructured, gvk schema.GroupVersionKind) bool {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return group == gvk.Group && kind == gvk.Kind && slices.ContainsFunc(versions, func(item any) bool {
		version, _ := item.(map[string]any)
		return version["name"] == gvk.Version && version["served"] == true
	})
}

func definitionKind() object.Kind {
	return object.Kind{
		GVK:      schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		Resource: "customresourcedefinitions",
	}
}

// Established waits until the API server has accepted a CRD, for at most Options.Timeout. The error
// is a *NotEstablishedError if another CRD already uses the names, or if the CRD was not accepted
// in time. If we have no permission to read CRDs, Established returns nil at once.
// [Discovery.Served] does not need that permission.
func (d *Discovery) Established(ctx context.Context, definition string) (err error) {
	crd := definitionKind()
	ended := until(ctx, d.timeout, func() bool {
		var live *unstructured.Unstructured
		if live, err = d.get(ctx, crd, object.Ref{GVK: crd.GVK, Name: definition}); err != nil {
			if apierrors.IsForbidden(err) {
				err = nil
			}
			return true
		}
		names := object.ConditionOf(live, "NamesAccepted")
		established := object.ConditionOf(live, "Established")
		switch {
		case established.Status == "True":
			return true
		case names.Status == "False":
			err = &NotEstablishedError{Definition: definition, Message: names.Message}
			return true
		}
		err = &NotEstablishedError{Definition: definition, Message: cmp.Or(established.Message, "the API server has not processed it yet")}
		return false
	})
	return cmp.Or(ended, err)
}

// DefinitionAnnotations returns the name and the annotations of a kind's CRD. There are no
// annotations if there is no CRD or if we have no permission to read it. The server sends only
// metadata, because a CRD may be a megabyte in size.
func (d *Discovery) DefinitionAnnotations(ctx context.Context, kind object.Kind) (name string, annotations map[string]string, err error) {
	crd := definitionKind()
	name = kind.GVR().GroupResource().String()
	var definition metav1.PartialObjectMetadata
	err = d.requests.Do(ctx, transport.Request{Ref: object.Ref{GVK: crd.GVK, Name: name}, Quiet: true}, func(ctx context.Context) error {
		body, err := transport.Read(ctx, d.rest.Get().AbsPath(append(transport.ResourcePath(crd, ""), name)...).
			SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"))
		if err != nil {
			return err
		}
		definition = metav1.PartialObjectMetadata{}
		if json.Unmarshal(body, &definition) != nil || definition.Name != name {
			return transport.Garbled(body)
		}
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return name, nil, nil
	}
	return name, definition.Annotations, err
}
