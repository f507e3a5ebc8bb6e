package owners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// manyFlags are the flags for counting or rewriting the owners of many objects.
type manyFlags struct {
	summary bool
	// unmanaged asks for the objects that no tool manages.
	unmanaged bool
	expect    []string
	from      []string
	migrate   bool
	dryRun    string
}

func (f *manyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.unmanaged, "unmanaged", false,
		"List objects without a Helm release, set, owner or GitOps tool, made by people, or by a tool that has written nothing for 30 days")
	flags.BoolVar(&f.summary, "summary", false, "Count the fields of each manager, across all kinds")
	flags.StringSliceVar(&f.expect, "expect", nil,
		"Expected managers, such as kube-*. List the fields that other managers own (except the status), and exit with 1 if there are any. Repeatable")
	flags.StringSliceVar(&f.from, "from", nil, "Also list, object by object, the fields that would have no owner without this manager. Repeatable")
	flags.BoolVar(&f.migrate, "migrate-versions", false,
		"Move owners off API versions that are no longer served, to a served version that has all their paths")
	flags.StringVar(&f.dryRun, "dry-run", "none", "With --migrate-versions: none, or client (only show what would be rewritten)")
	help.Words(cmd, "dry-run", "none", "client")
}

type surveyOptions struct {
	targets    target.Targets
	everything bool
	summary    bool
	question   owners.Question
	// paged means that the result is an HTML page.
	paged bool
	run   string
	out   *printer.Printer
}

// asked holds the other flags of the verb owners.
type asked struct {
	Target   target.Flags
	Managers []string
	Output   string
	Shown    []string
	Named    bool
	// History asks for the changes of owners, limited to Path and Since; zero values mean no limit.
	History bool
	Path    string
	Since   verb.Since
}

// means reports whether the flags request a count or a rewrite of many objects.
func (f *manyFlags) means(a asked) bool {
	t := a.Target
	counting := f.summary || f.unmanaged || f.migrate || f.expect != nil || f.from != nil
	selecting := t.AllNamespaces || t.All || t.Selector != "" || t.Fields != "" || len(t.Filenames) > 0 || t.Kustomize != "" || t.Recursive
	return counting || selecting || t.Set == "" && !a.Named
}

// toOptions parses the flags.
func (f *manyFlags) toOptions(in verb.Invocation, a asked) (verb.Options, error) {
	switch {
	case a.History && !a.Named && a.Target.Set == "":
		return f.toHistory(in, a)
	case f.unmanaged:
		return f.toUnmanaged(in, a)
	case f.migrate:
		return f.toMigration(in, a)
	}
	return f.toSurvey(in, a)
}

// check refuses flags that require another flag.
func (f *manyFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("dry-run") && !f.migrate {
		return errors.New("--dry-run requires --migrate-versions: other modes are read-only")
	}
	return nil
}

func (f *manyFlags) toSurvey(in verb.Invocation, a asked) (*surveyOptions, error) {
	o := &surveyOptions{
		summary:  f.summary,
		paged:    a.Output == output.HTML,
		question: owners.Question{Managers: a.Managers, From: f.from, Expected: f.expect},
	}
	targetsErr := o.target(a, in)
	print, printErr := verb.Printing(in.Connection, in.Streams, a.Output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfSurvey, print)
	return o, errors.Join(targetsErr, f.countable(a), printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *surveyOptions) target(a asked, in verb.Invocation) error {
	flags := a.Target
	o.everything = len(in.Args) == 0 && flags.Set == "" && len(flags.Filenames) == 0 && flags.Kustomize == "" && !flags.Recursive
	if o.everything {
		if flags.Fields != "" {
			return errors.New("--field-selector requires a TYPE: each kind has its own fields")
		}
		o.targets = target.Targets{Labels: flags.Selector, Everywhere: flags.AllNamespaces}
		_, err := labels.Parse(flags.Selector)
		return verb.FlagError("-l", err)
	}
	if len(in.Args) > 0 && !a.Named {
		// A TYPE without a name selects all its objects, because counting is read-only.
		flags.All = flags.Selector == "" && flags.Fields == ""
	}
	var err error
	o.targets, err = flags.ToTargets(in.Args, in.Streams)
	return err
}

// countable returns an error for flags that show fields, which a survey only counts, and for patterns that
// can match nothing.
func (f *manyFlags) countable(a asked) error {
	var faults []error
	for _, flag := range a.Shown {
		fault := &object.HintedError{
			Err:    errors.New(flag + " requires named objects: without names, objects are counted, not shown"),
			Advice: "name them as TYPE/NAME",
		}
		if a.Named && f.expect != nil {
			fault = &object.HintedError{
				Err:    errors.New(flag + " and --expect cannot be combined: --expect counts objects and shows no paths"),
				Advice: "leave out one of them",
			}
		}
		faults = append(faults, fault)
	}
	for _, pattern := range f.expect {
		if _, err := path.Match(pattern, ""); err != nil {
			faults = append(faults, verb.FlagError("--expect", errors.New(text.Printable(pattern)+" is not a pattern")))
		}
	}
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--expect", f.expect}, {"--from", f.from}, {"--manager", a.Managers}} {
		if one.names != nil && (len(one.names) == 0 || slices.Contains(one.names, "")) {
			faults = append(faults, errors.New(one.flag+" is empty"))
		}
	}
	return errors.Join(faults...)
}

func (o *surveyOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.execute(ctx, in, o.work)
}

func (o *surveyOptions) execute(ctx context.Context, in verb.Invocation, work func(context.Context, verb.Invocation) error) error {
	if o.targets.InFiles {
		if err := o.targets.Files.Read(ctx, in.Connection, in.Streams, o.out.Print); err != nil {
			return verb.Finish(err, o.out.Close(ctx))
		}
	}
	err := work(ctx, in)
	return o.targets.Files.Incomplete(verb.Finish(err, o.out.Close(ctx)))
}

func (o *surveyOptions) work(ctx context.Context, in verb.Invocation) error {
	client, err := in.Connect(ctx, o.run, 0, o.out.Print)
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
	found := count(ctx, client.NoRetry(), places, o.question)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	found.Where = where
	if o.summary {
		found.Holdings = nil
	}
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--from", o.question.From}, {"--expect", o.question.Expected}, {"--manager", o.question.Managers}} {
		if message := nowhere(one.flag, one.names, found); message != "" {
			o.out.Print(event.Warned{Text: message})
		}
	}
	o.out.Print(found)
	if message := unexpected(found.Unexpected); message != "" && o.paged {
		o.out.Print(event.Warned{Text: message})
	}
	unread := unreadOf(found.Unread, in.Verbosity > 0)
	if len(found.Unexpected) == 0 {
		return unread
	}
	// The unexpected managers decide the exit status.
	if unread != nil {
		o.out.Print(event.Warned{Text: unread.Error()})
	}
	return verb.ErrNo
}

// unexpected summarizes what --expect found, for an HTML page; empty if it found nothing.
func unexpected(found []event.ObjectHolding) string {
	if len(found) == 0 {
		return ""
	}
	const some = 5
	var managers []string
	objects := map[object.Ref]bool{}
	for _, h := range found {
		objects[h.Ref] = true
		if name := cmp.Or(h.Manager, "a manager without a name"); !slices.Contains(managers, name) {
			managers = append(managers, name)
		}
	}
	slices.Sort(managers)
	return fmt.Sprintf("unexpected owners in %s: %s", text.Count(len(objects), "object"), text.List(managers, some))
}

// nowhere returns a message about the given managers that own nothing, and suggests similar names;
// it is empty if there are no such managers. It ignores patterns, and results without objects.
func nowhere(flag string, names []string, found event.Surveyed) string {
	var message []string
	for _, name := range names {
		if found.Objects == 0 || strings.ContainsAny(name, `*?[\`) || slices.Contains(found.Seen, name) {
			continue
		}
		message = append(message, text.WithSuggestion(name, found.Seen))
	}
	if message == nil {
		return ""
	}
	return flag + ": found no manager named " + strings.Join(message, ", ")
}

func unreadOf(unread []event.Unread, verbose bool) error {
	return survey.Unread(unread, "counting them requires the verb list; see: "+command.Kubectl("auth", "can-i")+" --list. With a TYPE, only its objects are read", verbose)
}
