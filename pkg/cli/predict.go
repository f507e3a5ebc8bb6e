package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// predictFlags are the flags that decide about ownership, the same for apply and
// diff.
type predictFlags struct {
	manager   string
	take      []string
	yield     []string
	adoptFrom []string
	validate  string
}

func (f *predictFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.manager, "field-manager", "k8sconnect", "Who we are to the server: the owner of what is applied")
	flags.StringArrayVar(&f.take, "take", nil, "[KIND/NAME:]PATH to become the owner of, though it is contested; all for every one. Repeatable")
	flags.StringArrayVar(&f.yield, "yield", nil, "[KIND/NAME:]PATH to leave to whoever owns it, or at its live value. Repeatable")
	flags.StringSliceVar(&f.adoptFrom, "adopt-from", []string{managedfields.ClientSideApply},
		"Managers whose fields become ours, besides those of kubectl apply, so that what leaves the manifest leaves the cluster; empty for none, not even those")
	flags.StringVar(&f.validate, "validate", "strict", "Unknown and duplicate fields: strict (refuse), warn or ignore")
}

// maxManager is the server's bound on the length of a field manager's name.
const maxManager = 128

func (f *predictFlags) toPredictor() (predict.Predictor, error) {
	p := predict.Predictor{Manager: f.manager, AdoptFrom: f.adoptFrom}
	if f.manager == "" || len(f.manager) > maxManager {
		return p, fmt.Errorf("--field-manager must have 1 to %d characters", maxManager)
	}
	if len(p.AdoptFrom) > 0 && !slices.Contains(p.AdoptFrom, managedfields.ClientSideApply) {
		p.AdoptFrom = append(p.AdoptFrom, managedfields.ClientSideApply)
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
	var errs []error
	for _, text := range f.take {
		c, err := predict.ParseChoice(text)
		errs = append(errs, flagError("--take", err))
		p.Take = append(p.Take, c)
	}
	for _, text := range f.yield {
		c, err := predict.ParseChoice(text)
		if err == nil && len(c.Path) == 0 {
			err = fmt.Errorf("%q: name the path to leave", text)
		}
		errs = append(errs, flagError("--yield", err))
		p.Yield = append(p.Yield, c)
	}
	return p, errors.Join(errs...)
}

func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// checkChoices finds fault with choices before anything is sent: those that an
// object states in a way that can not be read, and those for an object that is not
// in the input, which are a slip of the pen, and a dangerous one.
func checkChoices(p *plan.Plan, predictor predict.Predictor) error {
	var errs []error
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			errs = append(errs, predictor.Check(item))
		}
	}
	for _, group := range []struct {
		flag    string
		choices []predict.Choice
	}{{"--take", predictor.Take}, {"--yield", predictor.Yield}} {
		for _, c := range group.choices {
			if !names(p, c) {
				errs = append(errs, fmt.Errorf("%s: no %s/%s in the input", group.flag, c.Kind, c.Name))
			}
		}
	}
	return errors.Join(errs...)
}

func names(p *plan.Plan, c predict.Choice) bool {
	for _, ph := range p.Phases {
		for _, item := range ph.Items {
			if c.Names(item.Ref, item.Kind.Resource) {
				return true
			}
		}
	}
	return c.Kind == "" || strings.TrimSpace(c.Name) == ""
}
