package webhook

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	typedadmission "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// guardEvery is how often the configuration is checked.
	guardEvery = 15 * time.Second
	// guardAgain is how soon after something went wrong.
	guardAgain = 3 * time.Second
	// tokenKey is where the Secret has the token.
	tokenKey = "token"
	// guardManager writes the paths and whatever is restored, and then owns none of it.
	guardManager = "k8sconnect-webhook"
	// callsManager suspends calls, and writes which custom kinds are asked about.
	callsManager = "k8sconnect-webhook-calls"
)

// guard keeps the webhook configuration as the chart made it, and puts a secret into its
// paths: a client that does not know it is not an API server, and is refused (edge cases
// 101 and 103). Each replica has one.
type guard struct {
	secrets        typedcorev1.SecretInterface
	configurations typedadmission.ValidatingWebhookConfigurationInterface
	// secret is the name of the Secret with the token.
	secret, configuration string
	charted               charted
	events                interface {
		Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
	}
	log logr.Logger

	tokens    tokens
	published atomic.Bool
}

// Run guards until the context ends.
func (g *guard) Run(ctx context.Context) error {
	for said := ""; ; {
		pause := guardEvery
		switch err := g.step(ctx); {
		case err == nil:
			said = ""
		case ctx.Err() != nil:
		default:
			pause = guardAgain
			if !apierrors.IsConflict(err) && said != err.Error() { // The second of two replicas meets a conflict.
				said = err.Error()
				g.log.Error(err, "guard the webhook configuration")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// ready reports whether the API server knows the paths. Without a configuration, there
// are no calls.
func (g *guard) ready() bool { return g.published.Load() }

// step checks once, and restores what differs.
func (g *guard) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, guardEvery)
	defer cancel()
	token, err := g.token(ctx)
	if err != nil {
		return err
	}
	g.tokens.use(token)
	is, err := g.configurations.Get(ctx, g.configuration, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		g.published.Store(true)
		return nil
	}
	if err != nil {
		return err
	}
	patch, restored, err := g.charted.repair(is, token)
	if err != nil {
		return err
	}
	if patch != nil {
		if is, err = g.write(ctx, patch); err != nil {
			return err
		}
	}
	g.published.Store(true)
	if len(restored) > 0 {
		g.tell(is, restored)
	}
	if patch, err = disown(is); err == nil && patch != nil {
		_, err = g.write(ctx, patch)
	}
	return err
}

func (g *guard) write(ctx context.Context, patch []byte) (*admissionv1.ValidatingWebhookConfiguration, error) {
	return g.configurations.Patch(ctx, g.configuration, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: guardManager})
}

// tell reports what was restored.
func (g *guard) tell(is *admissionv1.ValidatingWebhookConfiguration, restored []string) {
	what := strings.Join(restored, ", ")
	g.log.Info("the webhook configuration was changed; restored what the chart made", "configuration", is.Name, "entries", what)
	g.events.Eventf(&corev1.ObjectReference{
		APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration", Name: is.Name, UID: is.UID,
	}, corev1.EventTypeWarning, "ConfigurationRestored", "restored %s, which had been changed", what)
}

// token returns the one in the Secret, or creates it.
func (g *guard) token(ctx context.Context) (string, error) {
	secret, err := g.secrets.Get(ctx, g.secret, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	there := err == nil
	if there && wellFormed(secret.Data[tokenKey]) {
		return string(secret.Data[tokenKey]), nil
	}
	token := newToken()
	if there {
		secret.Data = map[string][]byte{tokenKey: []byte(token)}
		_, err = g.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: guardManager})
		return token, err
	}
	// A role can allow apply for a single name, which is impossible for create. Each
	// replica applies with a manager of its own and without force, so the second of two
	// meets a conflict.
	made := coreapply.Secret(g.secret, "").WithType(corev1.SecretTypeOpaque).WithData(map[string][]byte{tokenKey: []byte(token)})
	made.Namespace = nil
	_, err = g.secrets.Apply(ctx, made, metav1.ApplyOptions{FieldManager: guardManager + "-" + utilrand.String(8)})
	return token, err
}

// wellFormed reports whether a token is long enough to be a secret, and can be part of a
// path: another user may have put it there.
func wellFormed(token []byte) bool {
	return len(token) >= 16 && len(token) <= 256 && !slices.ContainsFunc(token, func(b byte) bool {
		return (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && b != '-' && b != '_'
	})
}

func newToken() string {
	bits := make([]byte, 16)
	_, _ = rand.Read(bits) // It never fails.
	return hex.EncodeToString(bits)
}

// tokens are those that a path may contain: the present one, and the previous one for as
// long as API servers may not know the present one.
type tokens struct {
	mu     sync.Mutex
	now    string
	before string
	until  time.Time // of the previous one
}

// tokenOverlap is far longer than an API server needs to hear of a configuration.
const tokenOverlap = 10 * time.Minute

func (t *tokens) use(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token != t.now {
		t.before, t.until, t.now = t.now, time.Now().Add(tokenOverlap), token
	}
}

// knows reports whether a token is one of them.
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

// behind admits clients that know the secret of the path, which is its last part. All
// others are answered before a byte of their request body is read.
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
