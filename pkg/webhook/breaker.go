package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	typedadmission "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

// breaker suspends the API server's calls to the webhook while they fail, because otherwise each
// write would wait for the timeout (edge case 102). It resumes them when test calls succeed. For
// custom resources, it makes the API server call the webhook only for deprecated versions. Only the
// leader's breaker acts.
type breaker struct {
	reach interface {
		try(context.Context) (bool, error)
	}
	configurations typedadmission.ValidatingWebhookConfigurationInterface
	configuration  string
	events         interface {
		Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
	}
	log        logr.Logger
	deprecated func() []schema.GroupVersionResource
	// ready reports whether this replica is serving. While it is not, test calls fail for a
	// transient reason.
	ready func() bool

	led       chan struct{}
	once      sync.Once
	suspended atomic.Bool
	circuit   circuit
	message   string // the last logged error; empty once a step succeeds
}

func (b *breaker) lead() { b.once.Do(func() { close(b.led) }) }

func (b *breaker) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-b.led:
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(b.circuit.pause()):
		}
		if b.ready() {
			b.logState(ctx, b.step(ctx))
		}
	}
}

func (b *breaker) step(ctx context.Context) error {
	is, err := b.configurations.Get(ctx, b.configuration, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(is.Webhooks, func(e admissionv1.ValidatingWebhook) bool { return e.Name == reachEntry }) {
		return errNoReachEntry
	}
	came, err := b.reach.try(ctx)
	if err != nil {
		return err // Nothing is known.
	}
	if b.circuit.lost+b.circuit.back == 0 { // An earlier leader's decision holds until more is known.
		b.circuit.suspended = slices.ContainsFunc(is.Webhooks, isSuspended)
	}
	b.circuit.tried(came)
	b.suspended.Store(b.circuit.suspended)
	patch, err := changes(is, b.circuit.suspended, b.deprecated())
	if err != nil || patch == nil {
		return err
	}
	if _, err := b.configurations.Patch(ctx, b.configuration, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: callsManager}); err != nil {
		return err
	}
	if slices.ContainsFunc(is.Webhooks, isSuspended) != b.circuit.suspended {
		b.report(is)
	}
	return nil
}

func (b *breaker) report(is *admissionv1.ValidatingWebhookConfiguration) {
	object := &corev1.ObjectReference{
		APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration", Name: is.Name, UID: is.UID,
	}
	kind, reason, text := corev1.EventTypeNormal, "CallsResumed", "the API server's calls work again and have been resumed"
	if b.circuit.suspended {
		kind, reason = corev1.EventTypeWarning, "CallsSuspended"
		text = "the API server's calls are failing and are suspended until they work again; until then, no warnings are sent and users are not recorded"
	}
	b.log.Info(text, "configuration", is.Name)
	b.events.Eventf(object, kind, reason, "%s", text)
}

func (b *breaker) logState(ctx context.Context, err error) {
	switch {
	case err == nil:
		b.message = ""
	case ctx.Err() == nil && b.message != err.Error():
		b.message = err.Error()
		b.log.Error(err, "cannot test the API server's calls")
	}
}

func (b *breaker) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "k8sconnect_admission_suspended",
		Help: "1 while the API server's calls are suspended because they failed. Only the leader's value is correct.",
	}, func() float64 {
		if b.suspended.Load() {
			return 1
		}
		return 0
	})
}

const (
	tryEvery = 10 * time.Second
	tryAgain = time.Second // after a test call that left the decision open
	// trySuspended is shorter than tryEvery, because there are no warnings until a test call succeeds.
	trySuspended = 3 * time.Second
	// suspendAfter is more than one, because a single test call may fail by chance.
	suspendAfter = 3
	resumeAfter  = 2
)

type circuit struct {
	suspended  bool
	lost, back int // in a row
}

func (c *circuit) tried(came bool) {
	if came {
		c.lost = 0
		if c.back++; c.back >= resumeAfter {
			c.suspended = false
		}
		return
	}
	c.back = 0
	if c.lost++; c.lost >= suspendAfter {
		c.suspended = true
	}
}

func (c *circuit) pause() time.Duration {
	if c.suspended && c.back > 0 || !c.suspended && c.lost > 0 {
		return tryAgain
	}
	if c.suspended {
		return trySuspended
	}
	return tryEvery
}

// customEntry is the entry for custom resources. The chart defines no rules for it, because only
// the CRDs in a cluster say which versions are deprecated.
const customEntry = "custom.k8sconnect.io"

// No object has suspendedLabel, so an entry whose selector requires it is not called. The chart
// does not set the selector, so an upgrade neither resets it nor conflicts with it.
const suspendedLabel = "k8sconnect.io/calls-are-suspended"

func isSuspended(e admissionv1.ValidatingWebhook) bool {
	return e.ObjectSelector != nil && e.ObjectSelector.MatchLabels[suspendedLabel] != ""
}

// selectorFor returns the entry's object selector, with suspendedLabel if calls are suspended. It
// preserves the selector terms that others have added.
func selectorFor(e admissionv1.ValidatingWebhook, suspended bool) *metav1.LabelSelector {
	s := e.ObjectSelector.DeepCopy()
	if s == nil {
		s = &metav1.LabelSelector{}
	}
	labels := maps.Clone(s.MatchLabels)
	delete(labels, suspendedLabel)
	if suspended {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[suspendedLabel] = "true"
	}
	s.MatchLabels = labels
	return s
}

func rulesFor(deprecated []schema.GroupVersionResource) []admissionv1.RuleWithOperations {
	rules := []admissionv1.RuleWithOperations{}
	scope := admissionv1.AllScopes
	for _, r := range deprecated {
		rules = append(rules, admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{r.Group}, APIVersions: []string{r.Version}, Resources: []string{r.Resource}, Scope: &scope},
		})
	}
	return rules
}

// changes returns a JSON patch, or nil if nothing changes. It never suspends the entry for test
// calls.
func changes(c *admissionv1.ValidatingWebhookConfiguration, suspended bool, deprecated []schema.GroupVersionResource) ([]byte, error) {
	var patch []operation
	for i, e := range c.Webhooks {
		if rules := rulesFor(deprecated); e.Name == customEntry && !equality.Semantic.DeepEqual(rules, e.Rules) {
			patch = append(patch, operation{"add", fmt.Sprintf("/webhooks/%d/rules", i), rules})
		}
		if e.Name == reachEntry || isSuspended(e) == suspended {
			continue
		}
		patch = append(patch, operation{"add", fmt.Sprintf("/webhooks/%d/objectSelector", i), selectorFor(e, suspended)})
	}
	return patchOf(c, patch)
}

const (
	reachEntry   = "reach.k8sconnect.io"
	reachTimeout = 30 * time.Second
)

// reach sends a dry run of a write for which the API server has to call the webhook. Unlike a
// request to the webhook's Service, this call takes the same network path as the calls for other
// writes. The response to the dry run contains the warning of the replica that was called.
type reach struct {
	client *kubernetes.Clientset
	idle   func() // closes its connections
	// namespace and name are those of the checkpoint's ConfigMap, to which the dry run writes.
	namespace, name string

	mu    sync.Mutex
	heard []string
}

func newReach(config *rest.Config, namespace, name string) (*reach, error) {
	r := &reach{namespace: namespace, name: name}
	config = rest.CopyConfig(config)
	config.WarningHandler = r
	// Open a new connection for each test, because each may reach a different API server.
	config.Dial = (&net.Dialer{Timeout: reachTimeout}).DialContext
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	r.idle = func() { utilnet.CloseIdleConnectionsFor(transport.Transport) }
	r.client, err = kubernetes.NewForConfigAndClient(config, transport)
	return r, err
}

func (r *reach) HandleWarningHeader(_ int, _, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, text)
}

// try reports whether a test call succeeded. If no test was possible, the error gives the reason.
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
		return false, fmt.Errorf("dry run that checks whether the API server calls the webhook: %w", err)
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

var errNoReachEntry = errors.New("the webhook configuration has no entry " + reachEntry)
