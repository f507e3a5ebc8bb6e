package webhook

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// release is the Helm release of the webhook's objects; empty for none. A deleted object is
// recreated as a part of it: otherwise an uninstall would leave the object behind, and the next
// install would refuse it.
type release struct{ name, namespace string }

func (r release) labels() map[string]string {
	if r.name == "" {
		return nil
	}
	return map[string]string{"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": r.name}
}

func (r release) annotations() map[string]string {
	if r.name == "" {
		return nil
	}
	return map[string]string{"meta.helm.sh/release-name": r.name, "meta.helm.sh/release-namespace": r.namespace}
}

// secret returns a Secret, and creates it empty if it is missing. It applies, because a role can
// permit that for one name, unlike a create; all replicas apply the same.
func (r release) secret(ctx context.Context, secrets typedcorev1.SecretInterface, name string) (*corev1.Secret, error) {
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return secret, err
	}
	empty := coreapply.Secret(name, r.namespace).WithType(corev1.SecretTypeOpaque).WithLabels(r.labels()).WithAnnotations(r.annotations())
	return secrets.Apply(ctx, empty, metav1.ApplyOptions{FieldManager: guardManager})
}
