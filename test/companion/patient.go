package companion

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BePatient makes the API server wait for longer than the chart allows: it passes over a
// call that is not answered in time, and machines that run tests can be slow. The webhook
// would undo this, and its policy would then forbid its own writes; so the configuration
// claims to be made by another chart, and the policy does not apply.
func (w *Companion) BePatient(ctx context.Context) error {
	patch := `[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":20},{"op":"replace","path":"/webhooks/1/timeoutSeconds","value":20},
		{"op":"replace","path":"/webhooks/2/timeoutSeconds","value":20},{"op":"replace","path":"/webhooks/3/timeoutSeconds","value":20},
		{"op":"replace","path":"/metadata/annotations/k8sconnect.io~1webhooks-digest","value":"the test's"}]`
	admission := w.client.AdmissionregistrationV1()
	if err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, Release+"-webhook", metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err := admission.ValidatingWebhookConfigurations().Patch(ctx, Release, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
