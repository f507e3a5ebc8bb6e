package cluster

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// held remembers which kinds are left in objects that hold some.
type held struct {
	mu    sync.Mutex
	kinds map[types.UID][]object.Kind
}

func (h *held) get(uid types.UID) (kinds []object.Kind, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds, known = h.kinds[uid]
	return kinds, known
}

func (h *held) put(uid types.UID, kinds []object.Kind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kinds == nil {
		h.kinds = map[types.UID][]object.Kind{}
	}
	h.kinds[uid] = kinds
}
