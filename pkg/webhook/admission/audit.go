package admission

import (
	"encoding/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// auditTaken is the key, in the audit log, of what a request takes.
	auditTaken = "taken"
	// maxAudit bounds its bytes; the rest is counted.
	maxAudit = 8 << 10
)

// auditEntry is a path in the audit log, or a count of more.
type auditEntry struct {
	Path   string   `json:"path,omitempty"`
	From   []string `json:"from,omitempty"`
	By     []string `json:"by,omitempty"`
	Forced bool     `json:"forced,omitzero"`
	More   int      `json:"more,omitzero"`
}

// auditOf returns the audit annotations of a request: what it takes from which owner. The audit log
// has the user, and survives this process.
func auditOf(transitions []ownership.Transition) map[string]string {
	list, more := []byte{'['}, 0
	add := func(e auditEntry) {
		text, err := json.Marshal(e)
		if err != nil { // All of it can be JSON.
			return
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, text...)
	}
	for _, t := range transitions {
		switch {
		case t.Kind != ownership.Taken:
		case len(list) > maxAudit:
			more++
		default:
			add(auditEntry{
				Path: text.Truncate(t.Path.String(), maxLine), From: auditNames(t.Lost()), By: auditNames(t.After), Forced: t.Forced,
			})
		}
	}
	if more > 0 {
		add(auditEntry{More: more})
	}
	if len(list) == 1 {
		return nil
	}
	return map[string]string{auditTaken: string(append(list, ']'))}
}

// auditNames names some of the owners of a path, with their operations.
func auditNames(owners []managedfields.Owner) []string {
	out := make([]string, 0, min(len(owners), maxLines))
	for _, o := range owners[:min(len(owners), maxLines)] {
		out = append(out, text.Truncate(o.String(), maxLine))
	}
	return out
}
