package companion

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BePatient raises the webhook's timeout above the chart's: the API server ignores late responses,
// and machines that run tests can be slow.
func (w *Companion) BePatient(ctx context.Context) error {
	patch := `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":20},{"op":"replace","path":"/webhooks/1/timeoutSeconds","value":20},
		{"op":"replace","path":"/webhooks/2/timeoutSeconds","value":20},{"op":"replace","path":"/webhooks/3/timeoutSeconds","value":20}]`
	_, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, Release, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
