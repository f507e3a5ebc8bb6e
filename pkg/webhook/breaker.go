package webhook

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedadmission "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
)

// breaker limits the webhook configuration to calls that are worthwhile (edge case 102). While
// calls do not come back, it stops the API server from calling, because each write would wait for
// the time-out. It keeps trying, and lets the API server call again when calls come back. For
// custom resources, it makes the API server call for deprecated versions only. The leader decides.
type breaker struct {
	reach interface {
		try(context.Context) (bool, error)
	}
	configurations typedadmission.ValidatingWebhookConfigurationInterface
	configuration  string
	events         interface {
		Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
	}
	log logr.Logger
	// deprecated are the versions of custom resources to call for.
	deprecated func() []schema.GroupVersionResource
	// ready reports whether this replica serves: before that, calls are lost for reasons that pass.
	ready func() bool

	led       chan struct{}
	once      sync.Once
	suspended atomic.Bool
	circuit   circuit
	said      string // the last error, until all was well
}

// lead makes this replica the one that decides.
func (b *breaker) lead() { b.once.Do(func() { close(b.led) }) }

// Run tries until the context ends.
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
			b.say(ctx, b.step(ctx))
		}
	}
}

// step tries once, and updates the configuration.
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

// report reports the decision.
func (b *breaker) report(is *admissionv1.ValidatingWebhookConfiguration) {
	object := &corev1.ObjectReference{
		APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration", Name: is.Name, UID: is.UID,
	}
	if b.circuit.suspended {
		const text = "the API server's calls do not come back, and are suspended until they do: there are no warnings, and users are not recorded"
		b.log.Info(text, "configuration", is.Name)
		b.events.Eventf(object, corev1.EventTypeWarning, "CallsSuspended", "%s", text)
		return
	}
	const text = "the API server's calls come back, and are resumed"
	b.log.Info(text, "configuration", is.Name)
	b.events.Eventf(object, corev1.EventTypeNormal, "CallsResumed", "%s", text)
}

// say logs an error unless it was the last one.
func (b *breaker) say(ctx context.Context, err error) {
	switch {
	case err == nil:
		b.said = ""
	case ctx.Err() == nil && b.said != err.Error():
		b.said = err.Error()
		b.log.Error(err, "find out whether the API server's calls come back")
	}
}

// metric returns a metric: whether calls are suspended.
func (b *breaker) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "k8sconnect_admission_suspended",
		Help: "1 while the API server does not call, because its calls did not come back. Only the leader knows.",
	}, func() float64 {
		if b.suspended.Load() {
			return 1
		}
		return 0
	})
}
