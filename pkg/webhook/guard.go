package webhook

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedadmission "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

const (
	guardEvery = 10 * time.Second
	guardAgain = time.Second
	tokenKey   = "token"
)

var errUntrusted = errors.New("the webhook configuration has no caBundle yet")

// guard adds a secret token to the paths in the webhook configuration. Only the API server knows
// these paths, so no other client can call the webhook (edge case 101). guard also updates the
// certificate files. Each replica runs a guard.
type guard struct {
	secrets               typedcorev1.SecretInterface
	configurations        typedadmission.ValidatingWebhookConfigurationInterface
	release               release
	secret, configuration string
	certificate           *SelfSigned // nil if another tool creates the certificate
	log                   logr.Logger

	tokens    tokens
	published atomic.Bool
}

// Run logs each failure once, and no failures that pass by themselves: a conflict with another replica, or a
// certificate that does not exist yet.
func (g *guard) Run(ctx context.Context) error {
	for message := ""; ; {
		pause := guardEvery
		switch err := g.step(ctx); {
		case err == nil:
			message = ""
		case ctx.Err() != nil:
		default:
			pause = guardAgain
			passes := apierrors.IsConflict(err) || errors.Is(err, errNoCertificate) || errors.Is(err, errUntrusted)
			if !passes && message != err.Error() {
				message = err.Error()
				g.log.Error(err, "cannot guard the webhook configuration")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// ready reports whether the API server knows the paths and the certificate. It is also true if
// there is no configuration.
func (g *guard) ready() bool { return g.published.Load() }

// step accepts the token before it publishes the paths that contain it, so that no call is refused.
func (g *guard) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, guardEvery)
	defer cancel()
	token, err := g.token(ctx)
	if err != nil {
		return err
	}
	g.tokens.use(token)
	if g.certificate != nil {
		if err := g.certificate.step(ctx); err != nil {
			return err
		}
	}
	is, err := g.configurations.Get(ctx, g.configuration, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		g.published.Store(true)
		return nil
	}
	if err != nil {
		return err
	}
	for _, change := range []func(*admissionv1.ValidatingWebhookConfiguration) ([]byte, error){
		func(is *admissionv1.ValidatingWebhookConfiguration) ([]byte, error) { return paths(is, token) }, disown,
	} {
		patch, err := change(is)
		if err != nil {
			return err
		}
		if patch == nil {
			continue
		}
		if is, err = g.configurations.Patch(ctx, g.configuration, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: guardManager}); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(is.Webhooks, func(e admissionv1.ValidatingWebhook) bool { return len(e.ClientConfig.CABundle) == 0 }) {
		return errUntrusted
	}
	g.published.Store(true)
	return nil
}

func pathOf(entry string) string {
	switch entry {
	case "ownership.k8sconnect.io":
		return admission.OwnershipPath
	case "deprecation.k8sconnect.io", customEntry:
		return admission.DeprecationPath
	case "deletion.k8sconnect.io":
		return admission.DeletionPath
	case reachEntry:
		return admission.ReachPath
	}
	return ""
}

// paths returns a JSON patch that adds the token to the paths; nil if all paths already contain it.
func paths(is *admissionv1.ValidatingWebhookConfiguration, token string) ([]byte, error) {
	var patch []operation
	for i, e := range is.Webhooks {
		service, path := e.ClientConfig.Service, pathOf(e.Name)+"/"+token
		if pathOf(e.Name) != "" && service != nil && (service.Path == nil || *service.Path != path) {
			patch = append(patch, operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/service/path", i), path})
		}
	}
	return patchOf(is, patch)
}

// token creates the token if it is missing. If two replicas create it concurrently, one gets a
// conflict.
func (g *guard) token(ctx context.Context) (string, error) {
	secret, err := g.release.secret(ctx, g.secrets, g.secret)
	if err != nil {
		return "", err
	}
	if wellFormed(secret.Data[tokenKey]) {
		return string(secret.Data[tokenKey]), nil
	}
	bits := make([]byte, 16)
	_, _ = rand.Read(bits) // never fails
	token := hex.EncodeToString(bits)
	secret.Data = map[string][]byte{tokenKey: []byte(token)}
	_, err = g.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: guardManager})
	return token, err
}

// wellFormed validates a token, because another user may have written it. A token must be long
// enough to be secret, and valid in a path.
func wellFormed(token []byte) bool {
	return len(token) >= 16 && len(token) <= 256 && !slices.ContainsFunc(token, func(b byte) bool {
		return (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && b != '-' && b != '_'
	})
}

// tokens are the valid tokens. The previous token stays valid for a while, because API servers may
// not know the current one yet.
type tokens struct {
	mu     sync.Mutex
	now    string
	before string
	until  time.Time // of before
}

// tokenOverlap is far longer than an API server needs to notice a changed configuration.
const tokenOverlap = 10 * time.Minute

func (t *tokens) use(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token != t.now {
		t.before, t.until, t.now = t.now, time.Now().Add(tokenOverlap), token
	}
}

func (t *tokens) knows(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []string{t.now}
	if time.Now().Before(t.until) {
		all = append(all, t.before)
	}
	return slices.ContainsFunc(all, func(known string) bool {
		return known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1
	})
}

// behind rejects clients whose path does not end in a valid token, without reading the request
// body.
func (t *tokens) behind(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.knows(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]) {
			w.Header().Set("Connection", "close")
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// These are the field managers of the webhook.
const (
	guardManager       = "k8sconnect-webhook"              // recreates objects, and writes the paths
	callsManager       = "k8sconnect-webhook-calls"        // suspends calls, and writes the rules for custom kinds
	certificateManager = "k8sconnect-webhook-certificates" // writes the caBundles
)

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patchOf returns a JSON patch, or nil if there are no operations. The API server refuses the patch
// if the configuration has changed since it was read.
func patchOf(is *admissionv1.ValidatingWebhookConfiguration, operations []operation) ([]byte, error) {
	if len(operations) == 0 {
		return nil, nil
	}
	return json.Marshal(slices.Insert(operations, 0, operation{"test", "/metadata/resourceVersion", is.ResourceVersion}))
}

// disown returns a JSON patch that removes the webhook's field managers from the managed fields.
// Otherwise an upgrade to a chart without one of the entries would fail, because it would leave an
// invalid entry behind.
func disown(is *admissionv1.ValidatingWebhookConfiguration) ([]byte, error) {
	var patch []operation
	for i, m := range slices.Backward(is.ManagedFields) {
		if slices.Contains([]string{guardManager, callsManager, certificateManager}, m.Manager) {
			patch = append(patch, operation{Op: "remove", Path: fmt.Sprintf("/metadata/managedFields/%d", i)})
		}
	}
	return patchOf(is, patch)
}
