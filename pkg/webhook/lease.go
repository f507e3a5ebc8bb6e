package webhook

import (
	"context"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	applycoordination "k8s.io/client-go/applyconfigurations/coordination/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimeout bounds a single request for the Lease, which a leader must renew within ten seconds.
const leaseTimeout = 5 * time.Second

// lease is the Lease with which replicas elect the leader. Unlike client-go's lock, it recreates a
// deleted Lease by apply: RBAC can permit an apply for a single name, but not a create.
type lease struct {
	resourcelock.LeaseLock
	release release
}

func newLease(config *rest.Config, name string, of release) (*lease, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = leaseTimeout
	client, err := coordination.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &lease{resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: of.namespace, Name: name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, of}, nil
}

func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	name, namespace := l.LeaseMeta.Name, l.LeaseMeta.Namespace
	empty := applycoordination.Lease(name, namespace).WithLabels(l.release.labels()).WithAnnotations(l.release.annotations())
	if _, err := l.Client.Leases(namespace).Apply(ctx, empty, metav1.ApplyOptions{FieldManager: guardManager}); err != nil {
		return err
	}
	made, _, err := l.Get(ctx)
	if err != nil {
		return err
	}
	if made.HolderIdentity != "" {
		return apierrors.NewAlreadyExists(schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}, name)
	}
	return l.Update(ctx, record)
}

// release is the Helm release of the webhook's objects, or empty. Recreated objects carry its
// labels and annotations. Otherwise an uninstall would leave these objects behind, and the next
// install would refuse to adopt them.
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

// secret returns a Secret. Like lease, it creates a missing one by apply.
func (r release) secret(ctx context.Context, secrets typedcorev1.SecretInterface, name string) (*corev1.Secret, error) {
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return secret, err
	}
	empty := coreapply.Secret(name, r.namespace).WithType(corev1.SecretTypeOpaque).WithLabels(r.labels()).WithAnnotations(r.annotations())
	return secrets.Apply(ctx, empty, metav1.ApplyOptions{FieldManager: guardManager})
}
