package webhook

import (
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// The field managers of the webhook.
const (
	// guardManager recreates objects, and writes the paths.
	guardManager = "k8sconnect-webhook"
	// callsManager suspends calls, and writes the rules for custom kinds.
	callsManager = "k8sconnect-webhook-calls"
	// certificateManager writes the caBundles.
	certificateManager = "k8sconnect-webhook-certificates"
)

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patchOf returns a JSON patch of a configuration, which is refused if the configuration has
// changed in between; nil for no operations.
func patchOf(is *admissionv1.ValidatingWebhookConfiguration, operations []operation) ([]byte, error) {
	if len(operations) == 0 {
		return nil, nil
	}
	return json.Marshal(slices.Insert(operations, 0, operation{"test", "/metadata/resourceVersion", is.ResourceVersion}))
}

// disown returns the JSON patch after which the webhook owns no field of a configuration; nil if it
// owns none. A manager that wrote a caBundle, a path or rules owns a part of the entry; an upgrade
// or a rollback to a chart without that entry would leave this part behind, which is no valid
// entry, and fail.
func disown(is *admissionv1.ValidatingWebhookConfiguration) ([]byte, error) {
	var patch []operation
	for i, m := range slices.Backward(is.ManagedFields) {
		if slices.Contains([]string{guardManager, callsManager, certificateManager}, m.Manager) {
			patch = append(patch, operation{Op: "remove", Path: fmt.Sprintf("/metadata/managedFields/%d", i)})
		}
	}
	return patchOf(is, patch)
}
