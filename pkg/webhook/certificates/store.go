package certificates

import (
	"context"
	"encoding/json"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

// Manager is the field manager that writes the caBundle of each entry and nothing else.
const Manager = "k8sconnect-webhook-certificates"

// requestTimeout is for one request. It is far shorter than any overlap should be,
// so that no write is that late.
const requestTimeout = 10 * time.Second

// Secrets is the client of Secrets in the webhook's namespace.
type Secrets interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
	List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error)
	Apply(ctx context.Context, secret *coreapply.SecretApplyConfiguration, opts metav1.ApplyOptions) (*corev1.Secret, error)
}

// Configurations is the client of ValidatingWebhookConfigurations.
type Configurations interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*admissionv1.ValidatingWebhookConfiguration, error)
	List(ctx context.Context, opts metav1.ListOptions) (*admissionv1.ValidatingWebhookConfigurationList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*admissionv1.ValidatingWebhookConfiguration, error)
}

// store reads and writes the two objects.
type store struct {
	secrets               Secrets
	configurations        Configurations
	secret, configuration string
}

func readSecret(secret *corev1.Secret) state {
	if secret == nil {
		return state{}
	}
	return decode(secret.Data)
}

func (s store) save(ctx context.Context, read *corev1.Secret, to state) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if read == nil {
		return s.create(ctx, to)
	}
	data, err := to.encode(read.Data)
	if err != nil {
		return err
	}
	written := read.DeepCopy()
	written.Data = data
	_, err = s.secrets.Update(ctx, written, metav1.UpdateOptions{FieldManager: Manager})
	return err
}

// create creates the Secret by applying it, because a role can allow that for one name,
// unlike a plain create. It uses a new manager each time and no force, so that of two
// replicas the second meets a conflict.
func (s store) create(ctx context.Context, to state) error {
	data, err := to.encode(nil)
	if err != nil {
		return err
	}
	secret := coreapply.Secret(s.secret, "").WithType(corev1.SecretTypeOpaque).WithData(data)
	secret.Namespace = nil
	_, err = s.secrets.Apply(ctx, secret, metav1.ApplyOptions{FieldManager: Manager + "-" + rand.String(8)})
	return err
}

func (s store) liveState(ctx context.Context) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := s.secrets.Get(ctx, s.secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return state{}, nil
	case err != nil:
		return state{}, err
	}
	return readSecret(secret), nil
}

func (s store) liveConfiguration(ctx context.Context) (configuration, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := s.configurations.Get(ctx, s.configuration, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return configuration{}, nil
	case err != nil:
		return configuration{}, err
	}
	return readConfiguration(object), nil
}

// A bundle is patched and not applied: applying a part of an entry would also make us an
// owner of the entry itself, next to Helm.
func (s store) publish(ctx context.Context, c configuration, bundle []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	wanted := admissionapply.ValidatingWebhookConfiguration(s.configuration).WithUID(c.uid).WithResourceVersion(c.version)
	for _, e := range c.entries {
		wanted.WithWebhooks(admissionapply.ValidatingWebhook().WithName(e.name).
			WithClientConfig(admissionapply.WebhookClientConfig().WithCABundle(bundle...)))
	}
	patch, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	_, err = s.configurations.Patch(ctx, s.configuration, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: Manager})
	return err
}
