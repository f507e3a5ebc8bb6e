package listwatch

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// UsualPage is how many objects are requested at once: most lists are one page, and none
// occupies the server for long.
const UsualPage = 1000

// List is one list, read page by page as a stream.
type List struct {
	Kind object.Kind
	// Build builds the request for the list, anew for each try.
	Build func() *rest.Request
	// Do sends a request: once, or until it succeeds.
	Do func(context.Context, func(context.Context) error) error
	// Size, AnyTime, Begin and More are those of [Pages].
	Size    int
	AnyTime bool
	Begin   func()
	More    func(page metav1.ListMeta) (size int, on bool)

	// Turn is called before a page is read, and again before it is read again; it may be
	// nil.
	Turn func()
	// Item is called for each item. It belongs to the list.
	Item func(text []byte) error
}

// Read reads the list, and returns the metadata of its last page.
func (l *List) Read(ctx context.Context) (metav1.ListMeta, error) {
	pages := Pages{Size: l.Size, AnyTime: l.AnyTime, Begin: l.Begin, More: l.More}
	pages.Fetch = func(ctx context.Context, token string, size int) (page metav1.ListMeta, err error) {
		err = l.Do(ctx, func(ctx context.Context) error {
			if l.Turn != nil {
				l.Turn()
			}
			var err error
			page, err = l.page(ctx, token, size)
			return err
		})
		return page, err
	}
	last, err := pages.Read(ctx)
	if errors.Is(err, errNoProgress) {
		err = transport.NoAnswer(transport.Wrong("the list of %s makes no progress", l.Kind.GVR().GroupResource()))
	}
	return last, err
}

// page reads one page.
func (l *List) page(ctx context.Context, token string, size int) (metav1.ListMeta, error) {
	get := l.Build()
	if size > 0 {
		get = get.Param("limit", strconv.Itoa(size))
	}
	if token != "" {
		get = get.Param("continue", token)
	}
	body, err := get.Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // It was read, or it failed before.
	page, err := transport.List(body, l.Kind, l.Item)
	if err != nil {
		return page, err
	}
	_, err = io.Copy(io.Discard, body) // So that HTTP/1.1 keeps the connection.
	return page, err
}

// Collection is a request for the selected objects of a kind; more is a field selector
// besides that of the selection.
func Collection(client rest.Interface, kind object.Kind, sel object.Selection, more ...string) *rest.Request {
	path := append(transport.GroupPath(kind.GVK.Group, kind.GVK.Version), kind.Resource) // all namespaces
	if kind.Namespaced && sel.Namespace != "" {
		path = transport.ResourcePath(kind, sel.Namespace)
	}
	r := client.Get().AbsPath(path...)
	if selector := fieldsOf(sel, more...); selector != "" {
		r = r.Param("fieldSelector", selector)
	}
	if strings.TrimSpace(sel.Labels) != "" {
		r = r.Param("labelSelector", sel.Labels)
	}
	return r
}

// MetadataOnly makes the server send only the metadata of the listed objects.
func MetadataOnly(r *rest.Request) *rest.Request {
	return r.SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
}

// fieldsOf joins the selection by fields, and by name, with more of the kind.
func fieldsOf(sel object.Selection, more ...string) string {
	var terms []string
	if sel.Name != "" {
		terms = append(terms, fields.OneTermEqualSelector("metadata.name", sel.Name).String())
	}
	for _, term := range append([]string{sel.Fields}, more...) {
		if term != "" {
			terms = append(terms, term)
		}
	}
	return strings.Join(terms, ",")
}
