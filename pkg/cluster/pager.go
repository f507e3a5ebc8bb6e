package cluster

import (
	"context"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// usualPage is how many objects are asked for at once: most lists are one page,
	// and none holds the server up for long.
	usualPage = 1000
	// restarts is how often a list that gets too old between two pages is taken up
	// again; the last time, all of it is asked for at once, which cannot get too old.
	restarts = 2
)

// metadataAlone asks for a list of objects of which only the metadata is sent.
const metadataAlone = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// pager reads a list page by page. It is the only way to read one: a list that
// gets too old again and again costs a handful of requests, whoever reads it (edge
// case 94).
type pager struct {
	kind object.Kind
	// build makes the request for what is listed, anew for each try.
	build func() *rest.Request
	// do sends a request: once, or until it succeeds.
	do func(context.Context, func(context.Context) error) error
	// size of a page; 0 asks for all at once.
	size int
	// anyTime: the pages need not be of one moment. Where a list is too old, the
	// server may then say how to go on with one of now.
	anyTime bool

	// begin is called when a list begins, and again when it begins anew; nil where
	// nobody needs to know.
	begin func()
	// turn is called before a page is read, and again before it is read again.
	turn func()
	// item is called for each item. It belongs to the pager.
	item func(text []byte) error
	// more reports whether to go on after a page; nil reads everything. It may
	// change size.
	more func(page metav1.ListMeta) bool
}

// read reads the list, and returns what its last page said of it.
func (p *pager) read(ctx context.Context) (metav1.ListMeta, error) {
	size, next := p.size, ""
	call(p.begin)
	for anew := 0; ; {
		var page metav1.ListMeta
		err := p.do(ctx, func(ctx context.Context) error {
			call(p.turn)
			var err error
			page, err = p.page(ctx, next)
			return err
		})
		switch {
		case tooOld(err) && next != "" && anew < restarts:
			anew++
			if next = statusOf(err).Continue; p.anyTime && next != "" && anew < restarts {
				continue
			}
			next, p.size = "", size
			if anew == restarts {
				p.size = 0
			}
			call(p.begin)
			continue
		case err != nil, page.Continue == "":
			return page, err
		case page.Continue == next:
			return page, &noAnswerError{wrong("the list of %s goes on where it was", p.kind.GVR().GroupResource())}
		case p.more != nil && !p.more(page):
			return page, nil
		}
		next = page.Continue
	}
}

// page reads one page as a stream.
func (p *pager) page(ctx context.Context, next string) (metav1.ListMeta, error) {
	get := p.build()
	if p.size > 0 {
		get = get.Param("limit", strconv.Itoa(p.size))
	}
	if next != "" {
		get = get.Param("continue", next)
	}
	body, err := get.Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // It was read, or it failed before.
	list, err := readList(body, p.fits, p.item)
	if err == nil {
		err = p.whole(list)
	}
	if err != nil {
		return list.ListMeta, err
	}
	_, err = io.Copy(io.Discard, body) // So that HTTP/1.1 keeps the connection.
	return list.ListMeta, err
}

// fits finds fault with a list that is not of the kind.
func (p *pager) fits(of listText) error {
	gv := p.kind.GVK.GroupVersion().String()
	switch {
	case of.Kind == "PartialObjectMetadataList" && of.GroupVersionKind().Group == metav1.GroupName:
		return nil
	case of.APIVersion == gv && of.Kind == p.kind.GVK.Kind+"List":
		return nil
	case of.APIVersion == gv && of.Kind != "" && of.Kind != p.kind.GVK.Kind && !kubernetesOwn(p.kind.GVK.Group):
		return nil // A definition may call its lists as it likes.
	case of.Kind == "":
		return wrong("it is no list of %s", p.kind.GVR().GroupResource())
	case of.Kind == "Status":
		return wrong("it is a Status (%s)", of.message)
	default:
		return wrong("it is a %s in %s, no list of %s", of.Kind, of.APIVersion, p.kind.GVR().GroupResource())
	}
}

// whole finds fault with a list that lacks what a list has.
func (p *pager) whole(list listText) error {
	what := p.kind.GVR().GroupResource()
	switch {
	case !list.items:
		return wrong("a list of %s without items", what)
	case list.ResourceVersion == "" && versioned(p.kind):
		return wrong("a list of %s without resourceVersion", what)
	}
	return nil
}

func call(f func()) {
	if f != nil {
		f()
	}
}
