package listwatch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// UsualPage is the usual number of objects in a page. Most lists fit in one page of this size, and
// the server produces such a page quickly.
const UsualPage = 1000

// List reads a list page by page.
type List struct {
	Kind    object.Kind
	Build   func() *rest.Request
	Do      func(context.Context, func(context.Context) error) error
	Size    int
	AnyTime bool
	Begin   func()
	More    func(page metav1.ListMeta) (size int, on bool)

	// Turn is called before each attempt to read a page. It may be nil.
	Turn func()
	// Item is called for each item. It must not retain text.
	Item func(text []byte) error
}

// Read returns the metadata of the last page.
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
		err = transport.NoAnswer(transport.Wrong("the list of %s returned the same continue token twice", l.Kind.GVR().GroupResource()))
	}
	return last, err
}

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
	defer func() { _ = body.Close() }()
	page, err := transport.List(body, l.Kind, l.Item)
	if err != nil {
		return page, err
	}
	_, err = io.Copy(io.Discard, body) // Otherwise HTTP/1.1 does not reuse the connection.
	return page, err
}

// Collection returns a request for the selected objects of a kind. more contains additional field
// selectors.
func Collection(client rest.Interface, kind object.Kind, sel object.Selection, more ...string) *rest.Request {
	path := append(transport.GroupPath(kind.GVK.Group, kind.GVK.Version), kind.Resource)
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

// MetadataOnly makes the server send only metadata.
func MetadataOnly(r *rest.Request) *rest.Request {
	return r.SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
}

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

// restarts is the maximum number of times that a list starts over. A list starts over if it expired
// between two pages, or if a page's continue token led back to the same page. The last restart
// requests everything at once, so nothing can expire.
const restarts = 2

var errNoProgress = errors.New("the list returned the same continue token twice")

// Pages reads a list page by page. A list that keeps expiring costs at most six requests (edge case
// 94).
type Pages struct {
	// Fetch reads the page that token identifies, or the first page if token is empty. A page has
	// at most size objects; 0 means all.
	Fetch func(ctx context.Context, token string, size int) (metav1.ListMeta, error)
	// Size 0 requests all objects at once.
	Size int
	// AnyTime allows pages from different points in time, so that an expired list can continue from
	// the current state.
	AnyTime bool
	Begin   func()
	// More reports whether to continue, and how many objects the next page may have. If More is
	// nil, all pages are read.
	More func(page metav1.ListMeta) (size int, on bool)
}

// Read returns the metadata of the last page.
func (p *Pages) Read(ctx context.Context) (metav1.ListMeta, error) {
	size, token := p.Size, ""
	p.begin()
	for anew := 0; ; {
		page, err := p.Fetch(ctx, token, size)
		stands := err == nil && page.Continue != "" && page.Continue == token
		switch {
		case (stands || TooOld(err)) && token != "" && anew < restarts:
			anew++
			if token = transport.StatusOf(err).Continue; p.AnyTime && token != "" && anew < restarts {
				continue
			}
			size, token = p.Size, ""
			if anew == restarts {
				size = 0
			}
			p.begin()
			continue
		case stands:
			return page, errNoProgress
		case err != nil, page.Continue == "":
			return page, err
		}
		token = page.Continue
		if p.More != nil {
			var on bool
			if size, on = p.More(page); !on {
				return page, nil
			}
		}
	}
}

func (p *Pages) begin() {
	if p.Begin != nil {
		p.Begin()
	}
}

// TooOld reports whether the server no longer has the changes since a version. Some servers
// indicate this only by the error's code.
func TooOld(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || transport.StatusOf(err).Code == http.StatusGone
}
