package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// unseenFor is how long a kind is waited for by somebody who cannot see whether
	// it is defined. A quiet server needs 10 to 60 ms.
	unseenFor = 2 * time.Second
	// mostDefinitions is how many definitions of a group are read in search of a kind.
	mostDefinitions = 10
)

// Upcoming waits for a kind that the server does not serve yet, where there is reason
// to: a definition of it is in the cluster, and the server takes a while from storing
// one to serving it (edge case 18, between two runs). It waits for as long as it would
// wait for the server itself, and calls tell first, with the definition.
//
// Without the right to read definitions it waits for a moment, and not at all if the
// name is nearly that of a kind which is served. The error is a *NoKindError if nothing
// says that the kind will come, or if it did not.
func (c *Client) Upcoming(ctx context.Context, gvk schema.GroupVersionKind, tell func(definition string)) (object.Kind, error) {
	kind, err := c.live(ctx, gvk)
	missing, ok := errors.AsType[*NoKindError](err)
	switch {
	case err == nil: // What is cached of all kinds lags behind.
		c.kinds.put(kind, true)
		return kind, nil
	case !ok:
		return kind, err
	}
	definition, err := c.definitionOf(ctx, gvk)
	switch {
	case ctx.Err() != nil:
		return kind, context.Cause(ctx)
	case denied(err) && missing.Near == "":
		return c.Served(ctx, gvk, min(c.timeout, unseenFor))
	case err != nil, definition == "":
		return kind, missing
	}
	tell(definition)
	err = c.Established(ctx, definition)
	if refused, ok := errors.AsType[*NotEstablishedError](err); ok {
		c.kinds.setRefused(gvk, refused)
		return kind, missing
	}
	if err != nil {
		return kind, err
	}
	return c.Served(ctx, gvk, 0)
}

// definitionOf returns the name of the definition that is to make the server serve a
// kind; empty if the cluster has none.
func (c *Client) definitionOf(ctx context.Context, gvk schema.GroupVersionKind) (string, error) {
	names, err := c.definitionsOf(ctx, gvk.Group)
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
		live, err := c.Get(ctx, crd, object.Ref{GVK: crd.GVK, Name: name})
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
// asks for a table: in it, the largest definition is one short line.
func (c *Client) definitionsOf(ctx context.Context, group string) ([]string, error) {
	crd := definitionKind()
	var table metav1.Table
	err := c.do(ctx, request{ref: object.Ref{GVK: crd.GVK}, bulk: true, quiet: true}, func(ctx context.Context) error {
		body, err := read(ctx, c.rest.Get().AbsPath(resourcePath(crd, "")...).
			Param("includeObject", string(metav1.IncludeNone)).
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"))
		if err != nil {
			return err
		}
		table = metav1.Table{}
		switch err := json.Unmarshal(body, &table); {
		case err != nil:
			return garbled(body)
		case table.Kind != "Table":
			return wrong("it is a %s, no table of definitions", table.Kind)
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

// defines reports whether a definition is one of the kind, in its version.
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
