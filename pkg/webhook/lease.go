package webhook

import (
	"context"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	applycoordination "k8s.io/client-go/applyconfigurations/coordination/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimeout bounds one request for the Lease: a leader may miss renewals for ten seconds, which
// a request that hangs must not use up.
const leaseTimeout = 5 * time.Second

// lease is the Lease by which replicas elect the leader. Unlike client-go's, it recreates a deleted
// Lease by apply, which RBAC can permit for a single name, unlike a create.
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

// Create creates the Lease and holds it, unless another replica was faster: the first one to write
// its name holds it.
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
