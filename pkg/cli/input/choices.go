package input

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
)

// ChoiceFlags are the flags that decide about ownership, the same for apply and
// diff.
type ChoiceFlags struct {
	manager   string
	take      []string
	yield     []string
	adoptFrom []string
	recreate  []string
	validate  string

	flags *pflag.FlagSet
}

// Add adds the flags to a command's.
func (f *ChoiceFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.manager, "field-manager", "k8sconnect", "Field manager that will own the applied fields")
	flags.StringArrayVar(&f.take, "take", nil, "Contested [KIND[/NAME]:][manager=OWNER:]PATH to become the owner of; [*] for any item, all for every path. Repeatable")
	flags.StringArrayVar(&f.yield, "yield", nil, "[KIND[/NAME]:][manager=OWNER:]PATH to leave to its owner, or at its live value. Repeatable")
	flags.StringSliceVar(&f.adoptFrom, adoptFromFlag, []string{managedfields.ClientSideApply},
		"Managers whose fields become ours in this run, so that what leaves the manifest leaves the cluster. "+
			"Those of kubectl apply become ours automatically, once: with our first apply of the object. Empty for none")
	flags.StringArrayVar(&f.recreate, "recreate", nil,
		"KIND[/NAME] to delete and create anew where a change cannot be made to the existing object. Repeatable")
	f.flags = flags
	flags.StringVar(&f.validate, "validate", "strict", "Unknown and duplicate fields: strict (refuse), warn or ignore")
}

// from returns the managers whose fields become ours. Moving away from client-side apply
// is a migration, which happens once; a manager that the user names is adopted in this
// run.
func (f *ChoiceFlags) from() adopt.From {
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

// maxManager is the server's bound on the length of a field manager's name, in bytes.
const maxManager = 128

// ManagerFault says what is wrong with the name of a manager; empty if nothing is. Wrong are
// names that the server would reject, and invisible ones, which most often come from a
// variable that is not set.
func ManagerFault(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > maxManager:
		return fmt.Sprintf("has %d bytes, and the server takes %d", len(name), maxManager)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("is %q, and the server takes printable characters only", name)
	}
	return ""
}

// checkManager refuses the names at which there is a fault.
func checkManager(name string) error {
	fault := ManagerFault(name)
	if fault == "" {
		return nil
	}
	return &object.HintedError{
		Err:    errors.New("--field-manager " + fault),
		Advice: "name who applies, such as --field-manager=team-shop; without the flag it is k8sconnect",
	}
}

// ToPredictor returns a Predictor with these choices; the caller sets its server and its
// schemas.
func (f *ChoiceFlags) ToPredictor() (predict.Predictor, error) {
	p := predict.Predictor{Manager: f.manager, AdoptFrom: f.from(), Locate: manifest.Locate}
	if err := checkManager(f.manager); err != nil {
		return p, err
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
			yieldErr = errors.Join(yieldErr, fmt.Errorf("--yield: %q: name the path to leave, or its manager", c))
		}
	}
	var recreateErr error
	for _, text := range f.recreate {
		c, err := predict.ParseObject(text)
		p.Recreate, recreateErr = append(p.Recreate, c), errors.Join(recreateErr, verb.FlagError("--recreate", err))
	}
	return p, errors.Join(takeErr, yieldErr, recreateErr)
}

// choices parses all values of a flag.
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
