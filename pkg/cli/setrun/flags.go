package setrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Flags are the flags of verbs that apply a set or show what an apply would change.
type Flags struct {
	name  string
	leave bool
	prune bool
	allow []string
	adopt bool
	yes   bool
}

// LeaveFlag is the flag that takes objects out of their sets.
const LeaveFlag = "leave-set"

// Add adds the flags. writes is set for a verb that prunes, and not for a verb that only shows what
// a prune would delete.
func (f *Flags) Add(flags *pflag.FlagSet, writes bool) {
	verb.AddSetFlag(flags, &f.name, "The set that the objects belong to, [KIND[.GROUP]/]NAME; KIND defaults to Secret")
	flags.BoolVar(&f.leave, LeaveFlag, false, "Remove the objects from their sets; cannot be combined with --apply-set")
	prune := "Afterwards, delete members of the set that are no longer in the input"
	if !writes {
		prune = "Also show the members of the set that apply --prune would delete"
	}
	flags.BoolVar(&f.prune, "prune", false, prune)
	flags.StringSliceVar(&f.allow, "prune-allow", nil,
		"Also prune objects of this KIND: CustomResourceDefinition, Namespace or PersistentVolumeClaim. Repeatable")
	flags.BoolVar(&f.adopt, "adopt", false, "Deprecated: --allow-join")
	_ = flags.MarkHidden("adopt") // MarkDeprecated would print a notice to stdout.
	flags.BoolVar(&f.adopt, "allow-join", false, "Let objects join the set even if they belong to another set, a Helm release, or a Flux or Argo CD application")
	if writes {
		flags.BoolVar(&f.yes, "yes", false, "Prune without asking, even if the input is empty or contains less than half of the set")
	}
}

// ConfirmFlags confirm the deletion of a whole set.
type ConfirmFlags struct {
	yes    bool
	digest string
	// shown is the digest of the deletions that a dry run showed.
	shown string
}

// Add adds the flags.
func (f *ConfirmFlags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.yes, "yes", false, "Delete the set without asking")
	flags.StringVar(&f.digest, "confirm", "", "Delete the set without asking, but only if the deletions match this DIGEST from an earlier run; for CI")
}

// Check returns an error if the value of --confirm is not a digest.
func (f *ConfirmFlags) Check() error { return CheckDigest(f.digest) }

// Offer returns a line that explains how to confirm the deletion that a dry run showed; empty if it
// showed none.
func (f *ConfirmFlags) Offer() string {
	if f.shown == "" {
		return ""
	}
	return "confirm this with --confirm=" + f.shown + "\n"
}

// CheckDigest returns an error if the value of --confirm is not a digest.
func CheckDigest(given string) error {
	if given == "" || review.IsDigest(given) {
		return nil
	}
	if why := review.Malformed(given); why != "" {
		return object.Hinted("run this again with --dry-run, and confirm the digest that it prints",
			"--confirm: %q is not a digest: %s", given, why)
	}
	return object.Hinted("--dry-run prints the digest",
		"--confirm: %q is not a digest", given)
}

// Confirm returns nil if the whole set may be deleted. A dry run needs no confirmation.
func (f *ConfirmFlags) Confirm(
	ctx context.Context, set object.Ref, d applyset.Decision, dryRun object.DryRun, ask func(context.Context, applyset.Decision, string) (bool, error),
) error {
	digest := digestOf(d)
	const shown = 10
	names := make([]string, len(d.Doomed))
	for i, m := range d.Doomed {
		names[i] = m.Ref.String()
	}
	doubt := text.Count(len(d.Doomed), "object") + " of the set would be deleted"
	refusal := &UnconfirmedError{Set: set, Doubt: doubt + ": " + text.List(names, shown), Digest: digest, all: true, kept: Protected(d)}
	switch {
	case len(d.Doomed) > 0 && dryRun != object.DryRunNone:
		f.shown = digest
		return nil
	case len(d.Doomed) == 0, f.digest == digest:
		return nil
	case f.digest != "":
		refusal.Doubt = fmt.Sprintf("--confirm=%s does not match: the objects to be deleted have changed", f.digest)
	case f.yes:
		return nil
	case ask != nil:
		yes, err := ask(ctx, d, doubt)
		if yes || err != nil {
			return err
		}
		refusal.Declined = true
	}
	return refusal
}

// Allowed parses the kinds in --prune-allow.
func Allowed(texts []string) ([]schema.GroupKind, error) {
	var all []schema.GroupKind
	var errs []error
	for _, text := range texts {
		gk, err := applyset.ParseAllow(text)
		errs = append(errs, verb.FlagError("--prune-allow", err))
		all = append(all, gk)
	}
	return all, errors.Join(errs...)
}

// Options are the parsed flags. Without a Name, the run has no set.
type Options struct {
	Name  string
	Prune bool
	// Leave means that the run takes the objects out of their sets; Name is then empty.
	Leave bool
	adopt bool
	allow []schema.GroupKind
	yes   bool
	// Reviewed means that all changes of the run, including those of the prune, are limited to what
	// was reviewed.
	Reviewed bool
}

// Prune returns the options of a run that makes the set equal to the input. The caller must have
// asked the user, because the run may delete any number of members.
func Prune(name string) Options { return Options{Name: name, Prune: true, yes: true} }

// AdoptionChoices returns the choices that --allow-join implies: they take over labels of other
// sets.
func (o Options) AdoptionChoices() []predict.Choice {
	if !o.adopt {
		return nil
	}
	label, err := predict.ParseChoices(`.metadata.labels["` + applyset.PartOfLabel + `"]`)
	if err != nil {
		return nil
	}
	return label
}

// ToOptions parses the flags. selected means that only part of the input is applied.
func (f *Flags) ToOptions(given func(string) bool, selected bool) (Options, error) {
	o := Options{Name: f.name, Prune: f.prune, Leave: f.leave, adopt: f.adopt, yes: f.yes}
	var errs []error
	if given(verb.SetFlag) && given(verb.SetFlagOfKubectl) {
		errs = append(errs, errors.New("--"+verb.SetFlag+" and --"+verb.SetFlagOfKubectl+" are the same flag: use one of them"))
	}
	if f.name != "" {
		_, _, err := applyset.ParseName(f.name)
		errs = append(errs, verb.FlagError("--"+verb.SetFlag, err))
	} else if given(verb.SetFlag) || given(verb.SetFlagOfKubectl) {
		errs = append(errs, errors.New("--"+verb.SetFlag+" is empty"))
	}
	var allowErr error
	o.allow, allowErr = Allowed(f.allow)
	errs = append(errs, allowErr)
	switch {
	case f.name == "" && f.prune:
		errs = append(errs, object.Hinted("name one with --apply-set=NAME in every apply, including the first",
			"--prune requires a set, which records what was applied before"))
	case f.name == "" && f.adopt:
		errs = append(errs, errors.New("--allow-join requires --apply-set"))
	case f.name != "" && f.leave:
		errs = append(errs, errors.New("--"+LeaveFlag+" and --"+verb.SetFlag+" cannot be combined: with a set, the objects become its members"))
	case f.prune && selected:
		errs = append(errs, errors.New("-l and --prune cannot be combined: objects that do not match would be pruned"))
	}
	if !f.prune && (len(f.allow) > 0 || f.yes) {
		errs = append(errs, errors.New("--prune-allow and --yes require --prune"))
	}
	return o, errors.Join(errs...)
}
