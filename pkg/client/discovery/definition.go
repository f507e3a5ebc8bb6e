package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// mostDefinitions is how many definitions of a group are read in search of a kind.
const mostDefinitions = 10

// definitionOf returns the name of the definition that should make the server serve a
// kind; empty if the cluster has none.
func (d *Discovery) definitionOf(ctx context.Context, gvk schema.GroupVersionKind) (string, error) {
	names, err := d.definitionsOf(ctx, gvk.Group)
	if err != nil {
		return "", err
	}
	// A definition begins with a plural: that of Policy is policies.
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

// definitionsOf returns the names of the definitions of a group, the youngest first. It
// requests a table, in which even the largest definition is one short line.
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

// cell returns the text in a column of a table: the name, and when it was created.
func cell(row metav1.TableRow, column int) string {
	if column >= len(row.Cells) {
		return ""
	}
	text, _ := row.Cells[column].(string)
	return text
}

// defines reports whether a definition defines the kind in its version.
func defines(definition *unstructured.Unstructured, gvk schema.GroupVersionKind) bool {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return group == gvk.Group && kind == gvk.Kind && slices.ContainsFunc(versions, func(item any) bool {
		version, _ := item.(map[string]any)
		return version["name"] == gvk.Version && version["served"] == true
	})
}

// definitionKind is the kind of definitions.
func definitionKind() object.Kind {
	return object.Kind{
		GVK:      schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		Resource: "customresourcedefinitions",
	}
}

// Established waits until the API server has accepted a definition, for as long as it
// would wait for the server itself. It returns a *NotEstablishedError if another
// definition has the names. Without the right to read definitions it learns nothing;
// [Discovery.Served] needs no such right.
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

// DefinitionAnnotations returns the annotations of the definition of a kind, and the
// definition's name. There are none if the kind has no definition, or if it may not be
// read. It requests the metadata alone, because a definition may have a megabyte.
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
