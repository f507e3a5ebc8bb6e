package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

const (
	// reachEntry is the entry of the webhook configuration for test calls.
	reachEntry = "reach.k8sconnect.io"
	// reachTimeout bounds such a write.
	reachTimeout = 30 * time.Second
)

// reach finds out whether the API server's calls come back, by a dry run of a write for which it
// has to call. That takes the same way as all its calls, which no request of the webhook to its own
// Service does; and whichever replica answers, the answer comes back with the dry run.
type reach struct {
	client *kubernetes.Clientset
	idle   func() // closes its connections
	// namespace and name are those of the written ConfigMap: the checkpoint's.
	namespace, name string

	mu    sync.Mutex
	heard []string
}

func newReach(config *rest.Config, namespace, name string) (*reach, error) {
	r := &reach{namespace: namespace, name: name}
	config = rest.CopyConfig(config)
	config.WarningHandler = r
	// Open a new connection each time: each may lead to another API server.
	config.Dial = (&net.Dialer{Timeout: reachTimeout}).DialContext
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	r.idle = func() { utilnet.CloseIdleConnectionsFor(transport.Transport) }
	r.client, err = kubernetes.NewForConfigAndClient(config, transport)
	return r, err
}

// HandleWarningHeader receives a warning.
func (r *reach) HandleWarningHeader(_ int, _, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, text)
}

// try reports whether a call came back. The error says that the test was impossible.
func (r *reach) try(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	defer r.idle()
	r.mu.Lock()
	r.heard = nil
	r.mu.Unlock()
	nonce := rand.String(10)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, admission.ReachAnnotation, nonce)
	_, err := r.client.CoreV1().ConfigMaps(r.namespace).Patch(ctx, r.name, types.MergePatchType, patch,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "k8sconnect-reach"})
	if err != nil {
		return false, fmt.Errorf("try a write that the API server asks about: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.heard {
		if strings.Contains(text, nonce) {
			return true, nil
		}
	}
	return false, nil
}

// errNoReachEntry says that no entry allows a test.
var errNoReachEntry = errors.New("the webhook configuration has no entry " + reachEntry)
