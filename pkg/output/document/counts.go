package document

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// summary counts results by action, each action of the verb included; it is
// written as a JSON object whose keys have a fixed order.
type summary struct {
	actions []event.Action
	tally   map[event.Action]int
}

// MarshalJSON keeps the order of the actions, which is that of the contract.
func (s summary) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(s.actions))
	for i, action := range s.actions {
		parts[i] = fmt.Sprintf("%q:%d", action, s.tally[action])
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}
