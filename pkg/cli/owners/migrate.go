package owners

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

type migrateOptions struct {
	surveyOptions
	dryRun object.DryRun
}

func (f *manyFlags) toMigration(in verb.Invocation, a asked) (*migrateOptions, error) {
	o := &migrateOptions{}
	o.question.Managers = a.Managers
	targetsErr := o.target(a, in)
	var flagErr, dryRunErr error
	if f.summary || f.expect != nil || f.from != nil {
		flagErr = errors.New("--migrate-versions cannot be combined with --summary, --expect or --from, which only count")
	}
	if o.dryRun, dryRunErr = verb.DryRunOf(f.dryRun); o.dryRun == object.DryRunServer {
		dryRunErr = &object.HintedError{
			Err:    errors.New("--dry-run=server and --migrate-versions cannot be combined: the rewrite changes no value that the server could check"),
			Advice: "--dry-run=client shows what would be rewritten",
		}
	}
	print, printErr := verb.Printing(in.Connection, in.Streams, a.Output)
	print.DryRun = o.dryRun != object.DryRunNone
	o.run = print.Run
	var outErr error
	o.out, outErr = printer.For(printer.OfMigration, print)
	return o, errors.Join(targetsErr, f.countable(a), flagErr, dryRunErr, printErr, verb.FlagError("-o", outErr), in.Check())
}

func (o *migrateOptions) Execute(ctx context.Context, in verb.Invocation) error {
	return o.execute(ctx, in, o.work)
}

func (o *migrateOptions) work(ctx context.Context, in verb.Invocation) error {
	client, err := in.Connect(ctx, o.run, 0, o.out.Print)
	if err != nil {
		return err
	}
	places, _, err := o.places(ctx, in, client)
	if err != nil {
		return err
	}
	served, err := client.Serves(ctx)
	if err != nil {
		return err
	}
	m := &owners.Migrator{
		Server: client, Served: served, Managers: o.question.Managers, DryRun: o.dryRun != object.DryRunNone, Has: knower(ctx, client),
	}
	o.out.Print(event.Planned{})
	migrating := &migrating{migrator: m, reader: client.NoRetry(), emit: o.out.Print}
	var unread []event.Unread
	for _, p := range places {
		if err := migrating.migratePlace(ctx, p); err != nil {
			unread = append(unread, event.Unread{Ref: object.Ref{GVK: p.Kind.GVK, Namespace: p.Selection.Namespace, Name: p.Selection.Name}, Err: err})
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o.out.Print(event.MigrationEnded{Unread: unread})
	switch {
	// Unread objects may need a migration too, so they come before those that are left.
	case unread != nil:
		return unreadOf(unread, in.Verbosity > 0)
	case migrating.failed:
		return verb.ErrUnknown
	case migrating.left:
		return verb.ErrNo
	default:
		return nil
	}
}

// knower returns a function that looks up a path in the schema of a kind. It reads each schema
// once.
func knower(ctx context.Context, client *client.Client) func(object.Kind, fieldpath.Path) owners.Knowledge {
	types := published.ByKind(client.SchemaOnce(ctx))
	var mu sync.Mutex
	schemas := map[object.Ref]*openapi.Schema{}
	return func(kind object.Kind, path fieldpath.Path) owners.Knowledge {
		mu.Lock()
		defer mu.Unlock()
		at := object.Ref{GVK: kind.GVK}
		schema, known := schemas[at]
		if !known {
			schema = &openapi.Schema{Fetch: func() openapi.Type { return types(kind) }}
			schemas[at] = schema
		}
		switch {
		case schema.At(nil) == nil:
			return owners.SchemaUnknown
		case schema.At(path) != nil, schema.IsDeduced(path):
			return owners.PathKnown
		default:
			return owners.PathUnknown
		}
	}
}

type migrating struct {
	migrator *owners.Migrator
	reader   *client.NoRetry

	mu           sync.Mutex
	emit         func(event.Event)
	left, failed bool
}

func (m *migrating) migratePlace(ctx context.Context, p survey.Place) error {
	var refs []object.Ref
	err := p.Read(ctx, m.reader, func() { refs = nil }, func(o client.ObjectFields) {
		for _, f := range o.Fields {
			owner := managedfields.Owner{Manager: f.Manager, APIVersion: f.APIVersion}
			if owners.Stale(p.Kind.GVK.Kind, owner, m.migrator.Managers, m.migrator.Served) {
				refs = append(refs, o.Ref)
				return
			}
		}
	})
	var group errgroup.Group
	group.SetLimit(survey.SideBySide)
	for _, ref := range refs {
		group.Go(func() error {
			reported, any := m.migrator.Migrate(ctx, p.Kind, ref)
			if !any {
				return nil
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.left = m.left || len(reported.Left) > 0
			m.failed = m.failed || reported.Err != nil
			m.emit(reported)
			return nil
		})
	}
	return errors.Join(err, group.Wait())
}
