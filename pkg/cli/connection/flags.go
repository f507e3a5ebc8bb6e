package connection

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// AddFlags adds the flags to a flag set, from which the connection then reads them.
func (c *Connection) AddFlags(flags *pflag.FlagSet) {
	c.config.AddFlags(flags)
	c.flags = flags
	flags.Lookup("namespace").Usage = "Namespace for objects that do not specify one; a manifest with another namespace is refused"
	flags.Lookup("context").Usage = "Kubeconfig context to use"
	flags.Lookup("kubeconfig").Usage = "Path to the kubeconfig"
	flags.DurationVar(&c.serverTimeout, "server-timeout", 30*time.Second,
		"How long to keep trying while the API server is unavailable; 10m is enough for a cluster to start")
	flags.DurationVar(&c.timeout, "timeout", 0, "How long the whole run may take (default unlimited); negative: no limit")
	c.addRun(flags)
	c.addGuards(flags)
	flags.IntVarP(&c.Verbosity, "v", "v", 0, "Verbosity: 1 lists everything that is otherwise only counted, and the rule that decided each path; 6 shows each request")
	flags.StringVar(&c.Color, "color", "auto", "When to use colour: auto, always or never")
}

// CommonFlags returns the flags that the help of every verb explains.
func CommonFlags() []string {
	return []string{"namespace", "context", "kubeconfig", ExpectContext, ExpectCluster, "server-timeout", "timeout", RunID, "color", "v"}
}

// Check refuses flags with invalid values.
func (c *Connection) Check() error {
	var errs []error
	// For a verb that waits, --timeout=0 means not to wait. For any other verb, it would end every
	// run.
	if f := c.flags; f != nil && c.timeout == 0 && f.Changed("timeout") {
		errs = append(errs, &object.HintedError{Err: errors.New("--timeout=0 leaves no time for the run"), Advice: "leave it out for no limit"})
	}
	if c.serverTimeout < 0 {
		errs = append(errs, errors.New("--server-timeout must not be negative"))
	}
	return errors.Join(append(errs, c.checkRun(), c.checkGuards())...)
}

const (
	// neither marks a flag that affects neither the choice of the cluster nor the choice of the
	// user.
	neither = iota
	theCluster
	whomToActAs
	// hidden marks a flag that affects the choice of the user and whose value must not be printed.
	hidden
	// guard marks a flag that can refuse a cluster. Only this plugin has such flags.
	guard
)

// decides classifies a flag by the choices that it affects. --namespace affects neither choice,
// because printed commands contain the namespace of their object.
func decides(flag string) int {
	switch flag {
	case "kubeconfig", "context", "cluster", "user", "server", "tls-server-name", "insecure-skip-tls-verify",
		"certificate-authority", "client-certificate", "client-key", "proxy-url", "auth-provider", "auth-provider-arg":
		return theCluster
	case "token", "username", "password":
		return hidden
	case "as", "as-group", "as-uid", "as-user-extra":
		return whomToActAs
	case ExpectContext, ExpectCluster:
		return guard
	default:
		return neither
	}
}

// Typed returns the flags of this call that a suggested command must repeat to reach the same
// cluster as the same user.
func (c *Connection) Typed() command.Flags {
	var typed command.Flags
	if c.flags == nil {
		return typed
	}
	c.flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		switch decides(f.Name) {
		case theCluster:
			typed.Cluster = slices.Concat(typed.Cluster, spelt(f))
		case hidden:
			typed.Cluster = append(typed.Cluster, "--"+f.Name+"=…")
		case whomToActAs:
			typed.As = slices.Concat(typed.As, spelt(f))
		case guard:
			typed.Guards = slices.Concat(typed.Guards, spelt(f))
		}
	})
	return typed
}

func spelt(f *pflag.Flag) []string {
	values := []string{f.Value.String()}
	if many, ok := f.Value.(pflag.SliceValue); ok {
		values = many.GetSlice()
	}
	for i, value := range values {
		values[i] = "--" + f.Name + "=" + value
	}
	return values
}

// Repeated returns the flags of this call that [Connection.Typed] omits, except those whose values
// must not be printed.
func (c *Connection) Repeated(flags *pflag.FlagSet) []string {
	var words []string
	flags.Visit(func(f *pflag.Flag) {
		if decides(f.Name) != neither {
			return
		}
		for _, word := range spelt(f) {
			value := strings.TrimPrefix(word, "--"+f.Name+"=")
			switch {
			case f.Value.Type() == "bool" && value == "true":
				words = append(words, "--"+f.Name)
			case f.Shorthand != "" && f.Value.Type() != "bool" && value != "":
				words = append(words, "-"+f.Shorthand, value)
			default:
				words = append(words, word)
			}
		}
	})
	return words
}

// Masking returns a function that masks events before they are printed, because a value can no
// longer be found once it is shortened, wrapped or escaped. It also adds the connection's flags to
// commands in the events.
func (c *Connection) Masking() func(event.Event) event.Event {
	typed := c.Typed()
	fill := func(text string) string { return command.Fill(text, typed) }
	return func(e event.Event) event.Event {
		masked, _ := c.Vault.Deep(e, fill).(event.Event)
		return masked
	}
}

// Say masks a string as Masking masks events.
func (c *Connection) Say(text string) string { return command.Fill(c.Vault.Text(text), c.Typed()) }
