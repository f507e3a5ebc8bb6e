package certificates

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// replica is the knowledge of one process of the webhook. The zero value has just
// started.
type replica struct {
	// serves is the certificate that it serves.
	serves served
	// memory is the last state with a current authority that it saw.
	memory state
}

// observed is what a replica's watches last reported. It may be stale.
type observed struct {
	// secret is nil if there is none; state is what it holds.
	secret *corev1.Secret
	state  state
	config configuration
}

// server has the Secret and the webhook configuration as they are now.
type server interface {
	liveState(ctx context.Context) (state, error)
	liveConfiguration(ctx context.Context) (configuration, error)
	// save writes the state if the Secret is still the one that was read; nil is
	// none. Otherwise the error is a conflict.
	save(ctx context.Context, read *corev1.Secret, to state) error
	// publish writes the bundle into all entries if the configuration is still the one
	// that was read.
	publish(ctx context.Context, read configuration, bundle []byte) error
}

// observe returns the replica after an observation: what it then serves, and what it
// remembers.
func (p replica) observe(r rules, o observed, now time.Time) replica {
	p.serves = r.serve(p.serves, p.view(o.state, o.config), now)
	if o.state.current != nil {
		p.memory = o.state
	}
	return p
}

func (p replica) view(s state, c configuration) view {
	return view{state: s, memory: p.memory, config: c}
}

// outcome is the result of a turn.
type outcome struct {
	// step is what was written to the Secret, if anything was.
	step step
	// trusted is how many authorities were written into the webhook configuration, if
	// any.
	trusted int
	// wake is when there may be more to do; the zero time means never, unless something
	// changes.
	wake time.Time
}

// turn takes the one step that is called for.
func (p replica) turn(ctx context.Context, r rules, o observed, s server, now time.Time) (outcome, error) {
	v := p.view(o.state, o.config)
	what, wake := r.next(v, now)
	if what == promote {
		// This replica's memory of the configuration is not enough.
		live, err := s.liveConfiguration(ctx)
		if err != nil {
			return outcome{wake: wake}, err
		}
		v.config = live
		what, wake = r.next(v, now)
	}
	if what != none {
		return p.write(ctx, r, what, v, o.secret, s, now)
	}
	if len(v.config.entries) == 0 || v.config.has(v.bundle()) {
		return outcome{wake: wake}, nil
	}
	return p.trust(ctx, r, v.config, s, wake, now)
}

// write carries out a step. The watch sees the result.
func (p replica) write(ctx context.Context, r rules, what step, v view, read *corev1.Secret, s server, now time.Time) (outcome, error) {
	to, err := r.after(what, v, now)
	if err == nil {
		err = s.save(ctx, read, to)
	}
	if err != nil {
		return outcome{wake: now}, fmt.Errorf("%s: %w", what, err)
	}
	return outcome{step: what}, nil
}

// trust makes the webhook configuration trust what the Secret says. The order keeps
// replicas from undoing each other's work: the configuration is read first and the Secret
// second, and the write is refused if the configuration has changed in between. So no
// write is based on an older Secret than the write before it.
func (p replica) trust(ctx context.Context, r rules, c configuration, s server, wake, now time.Time) (outcome, error) {
	fresh, err := s.liveState(ctx)
	if err != nil {
		return outcome{wake: wake}, err
	}
	if what, _ := r.next(p.view(fresh, c), now); what != none {
		return outcome{wake: now.Add(50 * time.Millisecond)}, nil // the watch brings it
	}
	bundle := fresh.bundle()
	if c.has(bundle) {
		return outcome{wake: wake}, nil
	}
	if err := s.publish(ctx, c, bundle); err != nil {
		return outcome{wake: wake}, fmt.Errorf("write the webhook configuration's caBundle: %w", err)
	}
	return outcome{trusted: len(fresh.authorities()), wake: wake}, nil
}
