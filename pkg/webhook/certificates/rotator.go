package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// Rotator provides one replica's certificate, and replaces it in time.
type Rotator struct {
	store  store
	rules  rules
	log    *slog.Logger
	serves atomic.Pointer[served]
}

// New returns a rotator; Run starts it. The clients are those of the Secret's
// namespace and of the cluster.
func New(secrets Secrets, configurations Configurations, o Options) (*Rotator, error) {
	r, err := o.rules()
	if err != nil {
		return nil, err
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Rotator{
		store: store{secrets: secrets, configurations: configurations, secret: o.Secret, configuration: o.Configuration},
		rules: r, log: log,
	}, nil
}

// GetCertificate returns the certificate to serve, for [tls.Config]. It never
// waits. There is none until the Secret has been read.
func (r *Rotator) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	now := r.serves.Load()
	if now == nil || now.by == nil || now.by.serving == nil {
		return nil, errors.New("no certificate yet")
	}
	return now.by.serving, nil
}

// Ready reports whether a valid certificate is served that all entries of the
// webhook configuration trust. A configuration that does not exist trusts
// everything: no server calls.
func (r *Rotator) Ready() bool {
	now := r.serves.Load()
	return now != nil && now.ready(time.Now())
}

// Run maintains the certificate until the context ends. It recovers from every
// failure on its own, and returns no error.
func (r *Rotator) Run(ctx context.Context) error {
	kick := make(chan struct{}, 1)
	secrets := follow(ctx, r.store.secretWatch(), &corev1.Secret{}, kick, r.report)
	configurations := follow(ctx, r.store.configurationWatch(), &admissionv1.ValidatingWebhookConfiguration{}, kick, r.report)
	if !cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced, configurations.HasSynced) {
		return nil
	}
	var p replica
	var pause time.Duration
	for {
		secret := only[*corev1.Secret](secrets)
		o := observed{
			secret: secret, state: readSecret(secret),
			config: readConfiguration(only[*admissionv1.ValidatingWebhookConfiguration](configurations)),
		}
		p = p.observe(r.rules, o, time.Now())
		r.serves.Store(&p.serves)
		wake, err := r.reconcile(ctx, p, o)
		if err != nil {
			pause = min(max(2*pause, 100*time.Millisecond), 30*time.Second)
			wake = time.Now().Add(pause)
			r.report(ctx, err)
		} else {
			pause = 0
		}
		if !sleep(ctx, wake, kick) {
			return nil
		}
	}
}

// reconcile takes the one step that is called for, and returns when to look again.
func (r *Rotator) reconcile(ctx context.Context, p replica, o observed) (time.Time, error) {
	out, err := p.turn(ctx, r.rules, o, r.store, time.Now())
	switch {
	case err != nil:
	case out.step != none:
		r.log.InfoContext(ctx, "certificates: "+string(out.step))
	case out.trusted > 0:
		r.log.InfoContext(ctx, "certificates: wrote the caBundle", "authorities", out.trusted)
	}
	return out.wake, err
}

// report logs an error; an expected one only at debug level.
func (r *Rotator) report(ctx context.Context, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) || ctx.Err() != nil {
		level = slog.LevelDebug // another replica was first, or this one is shutting down
	}
	r.log.Log(ctx, level, "certificates", "error", err)
}

// sleep waits until there is something to look at; it reports whether there is more
// to do.
func sleep(ctx context.Context, wake time.Time, kick <-chan struct{}) bool {
	var alarm <-chan time.Time
	if !wake.IsZero() {
		alarm = time.After(time.Until(wake))
	}
	select {
	case <-ctx.Done():
		return false
	case <-alarm:
	case <-kick:
	}
	return true
}
