package listwatch

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
)

// restarts is how often to resume a list that expires between two pages, or whose page
// leads to itself; the last time, everything is requested at once, which cannot expire.
const restarts = 2

// errNoProgress says that a page leads to itself.
var errNoProgress = errors.New("the list makes no progress")

// Pages reads a list page by page. A list that cannot be finished that way costs at most
// six requests, for every caller (edge case 94).
type Pages struct {
	// Fetch reads the page that a token leads to, or the first one if the token is empty,
	// with at most size objects; 0 means all.
	Fetch func(ctx context.Context, token string, size int) (metav1.ListMeta, error)
	// Size of a page; 0 asks for all at once.
	Size int
	// AnyTime: the pages need not be of one moment. If a list is too old, the server may
	// then say how to continue with a current one.
	AnyTime bool
	// Begin is called when the list begins, and again when it restarts; it may be nil.
	Begin func()
	// More reports whether to continue after a page, and how large the next may be; nil
	// reads everything.
	More func(page metav1.ListMeta) (size int, on bool)
}

// Read reads the list, and returns the metadata of its last page.
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

// TooOld reports whether the server no longer has the changes after a version. Some
// servers say so with a reason, some with the code alone.
func TooOld(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || transport.StatusOf(err).Code == http.StatusGone
}
