package certificates

import (
	"fmt"
	"log/slog"
	"time"
)

// backdate is how long before its issue a certificate is valid already, for clocks
// that are late.
const backdate = time.Hour

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
	// is used for serving: an hour by default, less than a third of
	// ServingLifetime. The replicas' clocks must agree much better than that.
	Overlap time.Duration
	// Log, if set, receives each step and each failure. It never contains a key.
	Log *slog.Logger
}

// rules are the parameters of the state machine.
type rules struct {
	names    []string // that the certificate is for, the first the most usual
	ca       time.Duration
	serving  time.Duration
	overlap  time.Duration
	grace    time.Duration // before calls are taken by an authority that did not wait
	authName string
}

func (o Options) rules() (rules, error) {
	r := rules{
		names: []string{
			o.Service + "." + o.Namespace + ".svc",
			o.Service + "." + o.Namespace + ".svc.cluster.local",
		},
		ca:       orDefault(o.CALifetime, 365*24*time.Hour),
		serving:  orDefault(o.ServingLifetime, 30*24*time.Hour),
		overlap:  orDefault(o.Overlap, time.Hour),
		authName: o.Service + "." + o.Namespace,
	}
	r.grace = min(r.overlap, time.Minute)
	switch {
	case o.Secret == "" || o.Configuration == "" || o.Service == "" || o.Namespace == "":
		return r, fmt.Errorf("certificates: secret, configuration, service and namespace are needed")
	case r.overlap < 0 || r.serving <= 0 || r.ca < r.serving:
		return r, fmt.Errorf("certificates: an authority that lives %s signs no certificate for %s", r.ca, r.serving)
	case 3*r.overlap >= r.serving:
		return r, fmt.Errorf("certificates: an overlap of %s is too long for certificates that live %s: a third at most", r.overlap, r.serving)
	}
	return r, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
