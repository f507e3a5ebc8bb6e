// Package choices has the flags by which users decide about fields and their owners, and the checks
// of these choices against the input.
package choices

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/local"
)

// Flags are the ownership flags of apply and diff.
type Flags struct {
	manager   string
	take      []string
	yield     []string
	adoptFrom []string
	recreate  []string
	validate  string

	flags *pflag.FlagSet
}

// Add adds the flags to a command.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.manager, "field-manager", "k8sconnect", "Field manager that will own the applied fields")
	flags.StringArrayVar(&f.take, "take", nil, "Contested [KIND[/NAME]:][manager=OWNER:]PATH to own; [*] matches any item, and \"all\" every path. Repeatable")
	flags.StringArrayVar(&f.yield, "yield", nil, "[KIND[/NAME]:][manager=OWNER:]PATH to leave to its owner; a path without an owner keeps its live value. Repeatable")
	flags.StringSliceVar(&f.adoptFrom, adoptFromFlag, []string{managedfields.ClientSideApply},
		"Managers whose fields become yours in this run, so that fields removed from the manifest are removed from the cluster. "+
			"Fields that kubectl apply owns become yours automatically with your first apply of the object. Empty for none")
	flags.StringArrayVar(&f.recreate, "recreate", nil,
		"KIND[/NAME] to delete and create again if a change is not possible in place. Repeatable")
	f.flags = flags
	flags.StringVar(&f.validate, "validate", "strict", "Unknown and duplicate fields: strict (refuse), warn or ignore")
}

// from returns the managers from which fields are adopted: once from client-side apply, and in each
// run from managers that the user names.
func (f *Flags) from() adopt.From {
	names := slices.DeleteFunc(slices.Clone(f.adoptFrom), func(name string) bool { return name == "" })
	if f.flags == nil || !f.flags.Changed(adoptFromFlag) {
		return adopt.From{Once: names}
	}
	if len(names) == 0 {
		return adopt.From{}
	}
	return adopt.From{Always: names, Once: []string{managedfields.ClientSideApply}}
}

const adoptFromFlag = "adopt-from"

// maxManager is the server's maximum length of a field manager, in bytes.
const maxManager = 128

// ManagerFault returns the reason why the name of a manager is invalid; empty if it is valid. An
// empty name usually comes from an unset variable.
func ManagerFault(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > maxManager:
		return fmt.Sprintf("has %d bytes, but the server accepts at most %d", len(name), maxManager)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("is %q, but the server accepts only printable characters", name)
	}
	return ""
}

// ToPredictor returns a Predictor with these choices, which knows the types of Kubernetes' own kinds.
// The caller sets its server and schemas.
func (f *Flags) ToPredictor() (predict.Predictor, error) {
	p := predict.Predictor{Manager: f.manager, AdoptFrom: f.from(), Locate: manifest.Locate, Known: new(local.Types).Of}
	if fault := ManagerFault(f.manager); fault != "" {
		return p, &object.HintedError{
			Err:    errors.New("--field-manager " + fault),
			Advice: "use a name such as --field-manager=team-shop; the default is k8sconnect",
		}
	}
	switch f.validate {
	case "strict", "true":
		p.Validation = "Strict"
	case "warn":
		p.Validation = "Warn"
	case "ignore", "false":
		p.Validation = "Ignore"
	default:
		return p, fmt.Errorf("--validate must be strict, warn or ignore, not %q", f.validate)
	}
	var takeErr, yieldErr error
	p.Take, takeErr = choices("--take", f.take)
	p.Yield, yieldErr = choices("--yield", f.yield)
	for _, c := range p.Yield {
		if len(c.Path) == 0 && c.Manager == "" {
			yieldErr = errors.Join(yieldErr, fmt.Errorf("--yield: %q: a path or a manager is missing", c))
		}
	}
	var recreateErr error
	for _, text := range f.recreate {
		c, err := predict.ParseObject(text)
		p.Recreate, recreateErr = append(p.Recreate, c), errors.Join(recreateErr, verb.FlagError("--recreate", err))
	}
	return p, errors.Join(takeErr, yieldErr, recreateErr)
}

func choices(flag string, texts []string) ([]predict.Choice, error) {
	var all []predict.Choice
	var errs []error
	for _, text := range texts {
		some, err := predict.ParseChoices(text)
		errs = append(errs, verb.FlagError(flag, err))
		all = append(all, some...)
	}
	return all, errors.Join(errs...)
}

// ServerSideFlag is --server-side, which has no effect and is accepted for kubectl scripts.
type ServerSideFlag struct{ on bool }

// Add adds the flag.
func (f *ServerSideFlag) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "server-side", true, "Always on; accepted for compatibility with kubectl")
	_ = flags.MarkHidden("server-side")
}

// Check refuses a client-side apply.
func (f *ServerSideFlag) Check() error {
	if f.on {
		return nil
	}
	return errors.New("--server-side=false is not supported; for a client-side apply, use kubectl apply")
}
