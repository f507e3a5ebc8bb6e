package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Target is one object, or the selected objects of one kind.
type Target struct {
	Kind object.Kind
	object.Selection
}

// Resolve finds the kinds of the arguments in the cluster. A type may be a category, such as all.
// The error joins a *client.NoTypeError for each unserved type; the other targets are returned with
// it.
func (t *Targets) Resolve(ctx context.Context, c *connection.Connection, client *client.Client) ([]Target, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if t.Set != "" {
		return members(ctx, client, t.Set, namespace)
	}
	var (
		found  []Target
		faults []error
		kinds  = map[string]object.Kind{}
	)
	for _, n := range t.Named {
		kind, known := kinds[n.Type]
		if !known {
			if kind, err = client.Resource(ctx, n.Type); err != nil {
				faults = append(faults, err)
				continue
			}
			kinds[n.Type] = kind
		}
		found = append(found, Target{kind, object.Selection{Namespace: Scope(kind, namespace), Name: n.Name}})
	}
	if t.Everywhere {
		namespace = ""
	}
	for _, typ := range t.Types {
		members, err := client.Resources(ctx, typ)
		faults = append(faults, err)
		for _, kind := range members {
			found = append(found, Target{kind, object.Selection{Namespace: Scope(kind, namespace), Labels: t.Labels, Fields: t.Fields}})
		}
	}
	return once(found), errors.Join(faults...)
}

func members(ctx context.Context, client *client.Client, name, namespace string) ([]Target, error) {
	set, err := store.Must(ctx, client, name, namespace)
	if err != nil {
		return nil, err
	}
	all, err := set.Members(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the set %s has no members", set.Record.Parent)
	}
	found := make([]Target, len(all))
	for i, m := range all {
		found[i] = Target{m.Kind, object.Selection{Namespace: m.Ref.Namespace, Name: m.Ref.Name}}
	}
	return found, nil
}

// Scope returns the namespace in which to search for objects of the kind; empty for a
// cluster-scoped kind.
func Scope(kind object.Kind, namespace string) string {
	if kind.Namespaced {
		return namespace
	}
	return ""
}

func once(all []Target) []Target {
	var out []Target
	for _, t := range all {
		if !slices.ContainsFunc(out, func(o Target) bool { return o.Kind.GVK == t.Kind.GVK && o.Selection == t.Selection }) {
			out = append(out, t)
		}
	}
	return out
}

// WhyAbsent returns a function that returns the reason why an object may be missing; "" if the
// reason is unknown.
func WhyAbsent(client *client.Client) func(context.Context, object.Kind, object.Ref) string {
	const lookupTimeout = 5 * time.Second
	return func(ctx context.Context, kind object.Kind, ref object.Ref) string {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		if kind.Namespaced && ref.Namespace != "" {
			if missing := MissingNamespace(ctx, client, ref.Namespace); missing != "" {
				return missing
			}
		}
		if ref.Name == "" || kind.Resource == "" {
			return ""
		}
		names, err := client.Names(ctx, kind, object.Selection{Namespace: Scope(kind, ref.Namespace)})
		if err != nil {
			return ""
		}
		intended := ref
		if intended.Name = text.Nearest(ref.Name, names); intended.Name == "" || intended.Name == ref.Name {
			return ""
		}
		return "did you mean " + intended.String() + "?"
	}
}

// MissingNamespace returns a message saying that a namespace does not exist, with a similar name if
// there is one. The message is empty if the namespace exists or cannot be read.
func MissingNamespace(ctx context.Context, client *client.Client, name string) string {
	namespace := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: name}
	if there, err := client.Exists(ctx, namespace); err != nil || there {
		return ""
	}
	message := namespace.String() + " does not exist"
	kind, err := client.Kind(ctx, namespace.GVK)
	if err != nil {
		return message
	}
	names, err := client.Names(ctx, kind, object.Selection{})
	if err != nil {
		return message
	}
	if intended := text.Nearest(name, names); intended != "" {
		message += "; did you mean " + intended + "?"
	}
	return message
}

// Explained adds to a not-found error the reason why the object may be missing.
func Explained(ctx context.Context, client *client.Client, ref object.Ref, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	kind, unknown := client.Kind(ctx, ref.GVK)
	if unknown != nil {
		return err
	}
	if why := WhyAbsent(client)(ctx, kind, ref); why != "" {
		return &object.HintedError{Err: err, Advice: why}
	}
	return err
}

// ExplainingReader is a client whose not-found errors say why the object may be missing.
type ExplainingReader struct{ *client.Client }

func (r ExplainingReader) Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	u, err := r.Client.Read(ctx, ref)
	return u, Explained(ctx, r.Client, ref, err)
}
