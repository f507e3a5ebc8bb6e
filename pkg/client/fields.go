package client

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/discovery"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// FieldsPage is the objects of one page of a list, with their managed fields and nothing
// else. It is valid during the call that it is handed to.
type FieldsPage []ObjectFields

// ObjectFields is one of them.
type ObjectFields struct {
	Ref    object.Ref
	Fields []metav1.ManagedFieldsEntry
}

// Fields lists what is selected of a kind, each request once, and hands over the managed
// fields of the objects page by page. Nothing but metadata is sent, and no more than a page
// is held. begin is called when the list begins, and again where it has to begin anew: what
// was handed over until then comes again.
func (n *NoRetry) Fields(ctx context.Context, kind object.Kind, sel object.Selection, begin func(), page func(FieldsPage)) error {
	ref := object.Ref{GVK: kind.GVK, Namespace: sel.Namespace, Name: sel.Name}
	var items FieldsPage
	l := &listwatch.List{
		Kind: kind, Size: selectPage, AnyTime: true,
		Build: func() *rest.Request {
			return listwatch.MetadataOnly(listwatch.Collection(n.client.rest, kind, sel))
		},
		Do: func(ctx context.Context, send func(context.Context) error) error {
			if err := n.do(ctx, ref, send); err != nil {
				return err
			}
			page(items)
			return nil
		},
		Begin: begin,
		Turn:  func() { items = items[:0] },
		Item: func(text []byte) error {
			item, err := fieldsOf(text, kind, within(kind, sel))
			items = append(items, item)
			return err
		},
	}
	_, err := l.Read(ctx)
	if transport.Unserved(err) {
		return discovery.NoneOf(kind)
	}
	return err
}

// fieldsOf reads the item of a list. It decodes what is needed: of all other metadata there
// may be a lot.
func fieldsOf(text []byte, kind object.Kind, namespace string) (ObjectFields, error) {
	var item struct {
		Metadata struct {
			Name          string                      `json:"name"`
			Namespace     string                      `json:"namespace"`
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &item); err != nil {
		return ObjectFields{}, transport.Garbled(text)
	}
	out := ObjectFields{
		Ref:    object.Ref{GVK: kind.GVK, Namespace: item.Metadata.Namespace, Name: item.Metadata.Name},
		Fields: item.Metadata.ManagedFields,
	}
	switch {
	case out.Ref.Name == "":
		return out, transport.Wrong("a %s without name", kind.GVK.Kind)
	case kind.Namespaced && namespace != "" && out.Ref.Namespace != namespace:
		return out, transport.Wrong("it is the %s %s of namespace %q, not of %q", kind.GVK.Kind, out.Ref.Name, out.Ref.Namespace, namespace)
	}
	return out, nil
}
