package owners

import (
	"context"
	"errors"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
)

type historyOptions struct {
	surveyOptions
	asked asked
	query owners.Query
}

// toHistory refuses the flags that a search in records cannot use: a record has the name of its object, but
// neither its labels nor its manifest.
func (f *manyFlags) toHistory(in verb.Invocation, a asked) (*historyOptions, error) {
	o := &historyOptions{asked: a, query: owners.Query{Managers: a.Managers}}
	var flagErr, pathErr error
	t := a.Target
	if f.summary || f.migrate || f.expect != nil || f.from != nil || t.Selector != "" || t.Fields != "" || len(t.Filenames) > 0 || t.Kustomize != "" || t.Recursive {
		flagErr = object.Hinted("select by TYPE, -n or -A, --since, --manager and --path",
			"--history for many objects reads their records: it cannot be combined with -l, --field-selector, -f, -k, --summary, --expect, --from or --migrate-versions")
	}
	if a.Path != "" {
		o.query.Path, pathErr = fieldpath.ParsePattern(a.Path)
		if slices.ContainsFunc(o.query.Path, func(pe fieldpath.Element) bool { return pe.Index != nil }) {
			pathErr = errors.New("a position refers to different items in different objects: use the keys of list items, or [*]")
		}
	}
	targetsErr := o.target(a, in)
	print, printErr := verb.Printing(in.Connection, in.Streams, a.Output)
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfHistory, print)
	return o, errors.Join(flagErr, targetsErr, f.countable(a), verb.FlagError("--path", pathErr), printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *historyOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.execute(ctx, in, o.work)
}

func (o *historyOptions) work(ctx context.Context, in verb.Invocation) error {
	client, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	where := " in the cluster"
	if !o.targets.Everywhere {
		if o.query.Namespace, _, err = in.Namespace(); err != nil {
			return err
		}
		where = " in the namespace " + o.query.Namespace
	}
	if !o.everything {
		found, err := o.targets.Resolve(ctx, in.Connection, client)
		if err != nil {
			return err
		}
		for _, t := range found {
			o.query.Places = append(o.query.Places, owners.Place{Kind: t.Kind.GVK.GroupKind(), Namespace: t.Namespace})
		}
	}
	o.query.From = o.asked.Since.From(client.Now())
	found, err := o.query.Changes(ctx, target.ExplainingReader{Client: client}, client.Now())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && len(found.Changes) == 0 && o.query.Within() != "" {
		if missing := target.MissingNamespace(ctx, client, o.query.Within()); missing != "" {
			return errors.New(missing)
		}
	}
	// If some records could not be read, the changes in the others are shown before the error.
	if err == nil || len(found.Changes) > 0 {
		found.Where = where
		o.out.Print(found)
	}
	return err
}
