package client

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
)

const (
	// worthList is the smallest number of objects in a namespace for which a list is faster than
	// concurrent reads.
	worthList = 6
	// fewRequests is the largest number of concurrent requests that are less work than to ask first
	// how many objects there are.
	fewRequests = 16
	// apart is the largest number of CRDs that are read one by one. A list of all CRDs would
	// include many others, each up to half a megabyte in size. A list restricted to one name is
	// served from the server's cache, but a get reads from etcd.
	apart = 32
	// farMore is how many listed objects cost the server as much as one request. It is also the
	// ratio of listed to wanted objects above which it is less work to read the wanted objects one
	// by one.
	farMore = 20
	// farLarger is how many bytes of a list cost as much as one request, so that a few large Helm
	// releases do not make a list of Secrets slower than separate reads.
	farLarger = 64 << 10
)

// The sizes of the pages of a list across namespaces. The first page only shows how many objects
// there are. The client holds a whole page in memory, and reads several kinds at once.
const (
	firstPage = 100
	pageBytes = 4 << 20
	// pageLimit is the largest page of any list.
	pageLimit = 10_000
)

// wanted contains the objects that have not been read yet: their positions in a list of references,
// by namespace and name.
type wanted map[string]map[string]int

func (w wanted) count() int {
	n := 0
	for _, names := range w {
		n += len(names)
	}
	return n
}

// requests returns how many requests it takes to read the objects by namespace.
func (w wanted) requests() int {
	n := 0
	for _, names := range w {
		if len(names) < worthList {
			n += len(names)
		} else {
			n++
		}
	}
	return n
}

// listed describes the objects in the pages of a list that were read so far.
type listed struct{ objects, bytes int }

// nextPage returns how many objects the next page of a list across all namespaces should have; 0 if
// it is less work to read the objects by namespace. A few objects are read by namespace, because
// concurrent reads take one round trip, and a list of which the first page is not enough takes two.
func nextPage(w wanted, read listed, page metav1.ListMeta) int {
	requests := w.requests()
	switch {
	case read.objects == 0:
		if requests <= transport.MaxConcurrency {
			return 0
		}
		return firstPage
	case page.RemainingItemCount == nil:
		return 0 // An aggregated API may not count.
	}
	left, each := int(*page.RemainingItemCount), max(read.bytes/read.objects, 1)
	if left > farMore*requests || left*each > farLarger*requests {
		return 0
	}
	return min(max(pageBytes/each, firstPage), pageLimit)
}

// acrossNamespaces records for which kinds a list across all namespaces was refused, or contained
// far more objects than were wanted.
type acrossNamespaces struct {
	mu sync.Mutex
	// worse contains the number of requests by namespace that were less work than the list.
	worse map[schema.GroupVersionKind]int
}

func (a *acrossNamespaces) isWorse(gvk schema.GroupVersionKind, requests int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return requests <= a.worse[gvk]
}

func (a *acrossNamespaces) add(gvk schema.GroupVersionKind, requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.worse == nil {
		a.worse = map[schema.GroupVersionKind]int{}
	}
	a.worse[gvk] = max(a.worse[gvk], requests)
}
