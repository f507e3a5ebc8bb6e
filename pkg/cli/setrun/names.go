package setrun

import (
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// names finds the name of each set from its ID, once per run. A member's label holds only the ID.
type names struct {
	find func(id string, member object.Ref) (parent object.Ref)

	mu    sync.Mutex
	known map[string]object.Ref
}

func (n *names) fill(claims []applyset.Claim, member object.Ref) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, c := range claims {
		if c.Mark != applyset.PartOfLabel {
			continue
		}
		parent, known := n.known[c.Name]
		if !known {
			parent = n.find(c.Name, member)
			n.known[c.Name] = parent
		}
		if parent.Name != "" {
			claims[i].Name = parent.String()
		}
	}
}
