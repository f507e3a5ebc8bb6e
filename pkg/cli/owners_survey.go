package cli

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// surveyFlags are those flags of owners that count many objects, in the place of showing
// one after the other.
type surveyFlags struct {
	summary bool
	expect  []string
	from    []string
	migrate bool
	dryRun  string
}

func (f *surveyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.summary, "summary", false, "Count the fields of each manager, in whatever kind")
	flags.StringSliceVar(&f.expect, "expect", nil,
		"Count, tell what managers other than these own outside the status, and exit with 1 if there is any; kube-* is a pattern. Repeatable")
	flags.StringSliceVar(&f.from, "from", nil, "Count, and tell what would have no owner without this manager, object by object. Repeatable")
	flags.BoolVar(&f.migrate, "migrate-versions", false,
		"Rewrite owners at API versions that the server does not serve to the one that it does, where that has all their paths")
	flags.StringVar(&f.dryRun, "dry-run", "none", "With --migrate-versions: none, or client (only tell what would be rewritten)")
	help.Words(cmd, "dry-run", "none", "client")
	help.Words(cmd, "expect")
	help.Words(cmd, "from")
}

// surveyOptions count who owns what.
type surveyOptions struct {
	targets target.Targets
	// everything: objects of whatever type.
	everything bool
	summary    bool
	question   survey.Question
	run        string
	out        *printer.Printer
}

// surveys reports whether many objects are meant, which are counted, rather than some that
// are shown.
func (f *ownersFlags) surveys(args []string) bool {
	t := f.target
	counting := f.survey.summary || f.survey.migrate || f.survey.expect != nil || f.survey.from != nil || f.output == output.HTML || f.output == output.KYAML
	selecting := t.AllNamespaces || t.All || t.Selector != "" || t.Fields != "" || len(t.Filenames) > 0 || t.Kustomize != "" || t.Recursive
	return counting || selecting || t.Set == "" && (len(args) == 0 || !namesOne(args))
}

func (f *ownersFlags) toSurvey(in verb.Invocation) (*surveyOptions, error) {
	o := &surveyOptions{
		summary:  f.survey.summary,
		question: survey.Question{Managers: f.managers, From: f.survey.from, Expected: f.survey.expect},
	}
	targetsErr := o.target(&f.target, in)
	print, printErr := verb.Printing(in.Connection, in.Streams, f.output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.ForSurvey(print)
	return o, errors.Join(targetsErr, f.countable(), printErr, verb.FlagError("-o", outErr), in.Check())
}

// target reads which objects are meant.
func (o *surveyOptions) target(flags *target.Flags, in verb.Invocation) error {
	o.everything = len(in.Args) == 0 && flags.Set == "" && len(flags.Filenames) == 0 && flags.Kustomize == "" && !flags.Recursive
	if o.everything {
		if flags.Fields != "" {
			return errors.New("--field-selector goes with a TYPE: each kind has fields of its own")
		}
		o.targets = target.Targets{Labels: flags.Selector, Everywhere: flags.AllNamespaces}
		return checkSelector(flags.Selector)
	}
	if len(in.Args) > 0 && !namesOne(in.Args) {
		// A TYPE alone is all of it: to count more than was meant does no harm.
		flags.All = flags.Selector == "" && flags.Fields == ""
	}
	var err error
	o.targets, err = flags.ToTargets(in.Args, in.Streams)
	return err
}

// countable finds fault with flags that show a part of an object.
func (f *ownersFlags) countable() error {
	var faults []error
	for _, one := range []struct {
		flag  string
		given bool
	}{{"--path", f.path != ""}, {"--history", f.history}, {"--status", f.status}} {
		if one.given {
			faults = append(faults, &object.HintedError{
				Err:    errors.New(one.flag + " goes with objects that are named: many are counted, and not shown"),
				Advice: "name them as TYPE/NAME",
			})
		}
	}
	for _, pattern := range f.survey.expect {
		if _, err := path.Match(pattern, ""); err != nil {
			faults = append(faults, verb.FlagError("--expect", errors.New(text.Printable(pattern)+" is not a pattern")))
		}
	}
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--expect", f.survey.expect}, {"--from", f.survey.from}, {"--manager", f.managers}} {
		if one.names != nil && (len(one.names) == 0 || slices.Contains(one.names, "")) {
			faults = append(faults, errors.New(one.flag+" is empty"))
		}
	}
	return errors.Join(faults...)
}

// Execute implements [verb.Options].
func (o *surveyOptions) Execute(ctx context.Context, in verb.Invocation) error {
	if o.targets.InFiles {
		if err := o.targets.Files.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
			return verb.Finish(err, o.out.Close(ctx))
		}
	}
	err := o.work(ctx, in)
	return o.targets.Files.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

func (o *surveyOptions) work(ctx context.Context, in verb.Invocation) error {
	const pace = 0 // as the server allows
	client, err := in.Connect(ctx, o.run, pace, o.out.Print)
	if err != nil {
		return err
	}
	places, where, err := o.places(ctx, in, client)
	if err != nil {
		return err
	}
	if o.question.Served, err = client.Serves(ctx); err != nil {
		return err
	}
	found := (&surveyor{reader: client.NoRetry(), question: o.question}).count(ctx, places)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	found.Where = where
	if o.summary {
		found.Holdings = nil
	}
	o.out.Print(found)
	unread := unreadOf(found.Unread)
	if len(found.Unexpected) == 0 {
		return unread
	}
	if unread != nil { // There may be more than was found.
		o.out.Print(event.Warned{Text: unread.Error()})
	}
	return verb.ErrNo
}

// unreadError says what could not be looked at.
type unreadError struct{ unread []event.Unread }

func unreadOf(unread []event.Unread) error {
	if len(unread) == 0 {
		return nil
	}
	return &unreadError{unread}
}

func (e *unreadError) Error() string {
	said := "could not be read: "
	for i, u := range e.unread {
		if i > 0 {
			said += "; "
		}
		why := string(apierrors.ReasonForError(u.Err))
		if why == "" {
			why = text.Excerpt(u.Err.Error())
		}
		said += u.Ref.String() + " (" + why + ")"
	}
	return said
}

// Hint says which permission is missing.
func (e *unreadError) Hint() string {
	if !slices.ContainsFunc(e.unread, func(u event.Unread) bool { return apierrors.IsForbidden(u.Err) }) {
		return ""
	}
	return "counting them needs the verb list; see: " + command.Kubectl("auth", "can-i") + " --list. With a TYPE, only that is read"
}
