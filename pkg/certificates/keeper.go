package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// requestTimeout is for one request. It is far shorter than any overlap should
// be, so that no write is late by as much as that.
const requestTimeout = 10 * time.Second

// Options say whose certificate it is, and how long it lives.
type Options struct {
	// Secret is the name of the Secret that holds everything.
	Secret string
	// Configuration is the name of the ValidatingWebhookConfiguration, all
	// entries of which get the caBundle.
	Configuration string
	// Namespace and Service are where the API servers call.
	Namespace, Service string
	// CALifetime is how long an authority is valid: a year by default. The next
	// one is made when two thirds of it are over.
	CALifetime time.Duration
	// ServingLifetime is how long a certificate is valid: 30 days by default. It
	// is renewed when two thirds of it are over.
	ServingLifetime time.Duration
	// Overlap is how long every API server has to learn of an authority before it
	// is served by: an hour by default, less than a third of ServingLifetime. The
	// replicas' clocks must agree much better than that.
	Overlap time.Duration
	// Log, if set, is told each step, and what went wrong. No key is in it.
	Log *slog.Logger
}

// Keeper keeps the certificate of one replica.
type Keeper struct {
	store  store
	rules  rules
	log    *slog.Logger
	memory state // of Run only
	served atomic.Pointer[served]
}

// New returns a keeper; Run makes it work. The clients are those of the
// Secret's namespace and of the cluster.
func New(secrets Secrets, configurations Configurations, o Options) (*Keeper, error) {
	r, err := o.rules()
	if err != nil {
		return nil, err
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{
		store: store{secrets: secrets, configurations: configurations, secret: o.Secret, configuration: o.Configuration},
		rules: r, log: log,
	}, nil
}

// GetCertificate returns the certificate to serve, for [tls.Config]. It never
// waits. There is none until the Secret has been read.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	now := k.served.Load()
	if now == nil || now.by == nil || now.by.serving == nil {
		return nil, errors.New("no certificate yet")
	}
	return now.by.serving, nil
}

// Ready reports whether a certificate is served that is valid and that all
// entries of the webhook configuration trust. A configuration that does not
// exist trusts everything: nobody calls.
func (k *Keeper) Ready() bool {
	now := k.served.Load()
	return now != nil && now.ready(time.Now())
}

// Run keeps the certificate until the context ends. It comes back from every
// failure by itself, and returns no error.
func (k *Keeper) Run(ctx context.Context) error {
	kick := make(chan struct{}, 1)
	secrets := k.watch(ctx, k.store.secretWatch(), &corev1.Secret{}, kick)
	configurations := k.watch(ctx, k.store.configurationWatch(), &admissionv1.ValidatingWebhookConfiguration{}, kick)
	if !cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced, configurations.HasSynced) {
		return nil
	}
	var pause time.Duration
	for {
		wake, err := k.look(ctx, only[*corev1.Secret](secrets), only[*admissionv1.ValidatingWebhookConfiguration](configurations))
		if err != nil {
			pause = min(max(2*pause, 100*time.Millisecond), 30*time.Second)
			wake = time.Now().Add(pause)
			k.say(ctx, err)
		} else {
			pause = 0
		}
		if !sleep(ctx, wake, kick) {
			return nil
		}
	}
}

// look takes the one step that is to be taken, and returns when to look again.
func (k *Keeper) look(ctx context.Context, secret *corev1.Secret, object *admissionv1.ValidatingWebhookConfiguration) (time.Time, error) {
	now := time.Now()
	v := view{state: readSecret(secret), memory: k.memory, config: readConfiguration(object)}
	k.show(v, now)
	if v.current != nil {
		k.memory = v.state
	}
	what, wake := k.rules.next(v, now)
	if what == promote {
		// Never by what this replica remembers of the configuration alone.
		live, err := k.store.liveConfiguration(ctx)
		if err != nil {
			return wake, err
		}
		v.config = readConfiguration(live)
		what, wake = k.rules.next(v, now)
	}
	if what != none {
		return k.take(ctx, what, v, secret, now)
	}
	if len(v.config.entries) == 0 || v.config.has(v.bundle()) {
		return wake, nil
	}
	return k.trust(ctx, v, wake)
}

// take carries out a step. What follows from it is seen by the watch.
func (k *Keeper) take(ctx context.Context, what step, v view, secret *corev1.Secret, now time.Time) (time.Time, error) {
	s, err := k.rules.take(what, v, now)
	if err != nil {
		return now, fmt.Errorf("%s: %w", what, err)
	}
	if err := k.store.save(ctx, secret, s); err != nil {
		return now, fmt.Errorf("%s: %w", what, err)
	}
	k.log.InfoContext(ctx, "certificates: "+string(what))
	return time.Time{}, nil
}

// trust makes the webhook configuration trust what the Secret says. The order
// is what keeps replicas from undoing each other's work: first the
// configuration was read, now the Secret is, and the write is refused if the
// configuration has changed meanwhile. So no write is made by an older Secret
// than the write before it.
func (k *Keeper) trust(ctx context.Context, v view, wake time.Time) (time.Time, error) {
	secret, err := k.store.liveSecret(ctx)
	if err != nil {
		return wake, err
	}
	fresh := view{state: readSecret(secret), memory: k.memory, config: v.config}
	if what, _ := k.rules.next(fresh, time.Now()); what != none {
		return time.Now().Add(50 * time.Millisecond), nil // the watch brings it
	}
	bundle := fresh.bundle()
	if v.config.has(bundle) {
		return wake, nil
	}
	if err := k.store.publish(ctx, v.config, bundle); err != nil {
		return wake, fmt.Errorf("write the webhook configuration's caBundle: %w", err)
	}
	k.log.InfoContext(ctx, "certificates: wrote the caBundle", "authorities", len(fresh.authorities()))
	return wake, nil
}

// show changes what is served.
func (k *Keeper) show(v view, now time.Time) {
	var before served
	if last := k.served.Load(); last != nil {
		before = *last
	}
	after := k.rules.serve(before, v, now)
	k.served.Store(&after)
}

// say tells the log of an error, but for what is part of the game.
func (k *Keeper) say(ctx context.Context, err error) {
	level := slog.LevelWarn
	if apierrors.IsConflict(err) || ctx.Err() != nil {
		level = slog.LevelDebug // another replica was first, or we are told to end
	}
	k.log.Log(ctx, level, "certificates", "error", err)
}

// sleep waits until there is something to look at; it reports whether there is
// more to do.
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
