package managedfields

import (
	"fmt"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Encode writes entries in the form of metadata.managedFields.
func Encode(entries []Entry) ([]any, error) {
	out := make([]any, 0, len(entries))
	for _, e := range entries {
		tree, err := fieldpath.ToTree(e.Fields)
		if err != nil {
			return nil, fmt.Errorf("metadata.managedFields of manager %q: %w", e.Manager, err)
		}
		m := map[string]any{
			"manager": e.Manager, "operation": e.Operation, "apiVersion": e.APIVersion,
			"fieldsType": "FieldsV1", "fieldsV1": tree,
		}
		if e.Subresource != "" {
			m["subresource"] = e.Subresource
		}
		if !e.Time.IsZero() {
			m["time"] = e.Time.UTC().Format("2006-01-02T15:04:05Z07:00")
		}
		out = append(out, m)
	}
	return out, nil
}
