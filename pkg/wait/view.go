package wait

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/observe"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

// view is what one watch tells: objects of one kind and namespace, those that are
// named or all that its labels match.
type view struct {
	// sight belongs to whoever follows it; the rest to the run.
	sight *observe.View

	typ       string
	kind      object.Kind // Resource is empty while it is not served
	namespace string
	labels    string

	// named objects, by name; nil where the labels select.
	named map[string]*item
	// selected objects are those that the labels matched so far.
	selected map[key]*item
	// goal is that of all that is selected. Named objects have their own.
	goal *Goal
	// compiled has the goals of the view, once its kind is known.
	compiled map[*Goal]*conditions

	// pending counts the objects that have no result.
	pending int
	// synced: what is not known to be there is not there; seen: that was so once.
	synced, seen bool
	// unserved is why there is no kind; nil where there is one.
	unserved error
	// blind is why changes cannot be seen at present; nil where they can.
	blind error
	// ended is why nothing more will be told; nil while it goes on.
	ended error
}

// key names an object within a kind.
type key struct{ namespace, name string }

// selecting reports whether the view is of a selector.
func (v *view) selecting() bool { return v.named == nil }

// message is what a view's goroutine has to tell.
type message struct {
	view *view
	// change is what its watch tells; nil for the other messages.
	change object.Change
	// kind is served now, and compiled are its goals.
	kind     object.Kind
	compiled map[*Goal]*conditions
	// gone: the kind is not served, for the reason in err.
	gone bool
	// item is one of the view's, and why says why it may not be there.
	item *item
	why  string
	// explained is what came of asking why objects hang.
	explained *explained
	// err is the end of the view.
	err error
}

// follow watches until ctx is done or nothing more can be told. A kind that is not
// served is asked for until it is (edge case 45), also where it was before.
func (e *Engine) follow(ctx context.Context, v *view, tell func(message)) {
	kind, goals, compiled := v.kind, v.goals(), v.compiled // The view changes by what is told.
	pauses := untilServed()
	for {
		if kind.Resource == "" {
			var err error
			if kind, compiled, err = e.serve(ctx, v, goals, tell); err != nil {
				tell(message{view: v, err: err})
				return
			}
			tell(message{view: v, kind: kind, compiled: compiled})
		}
		v.sight.Kind = kind
		err := e.watch(ctx, v, compiled, tell, func(c object.Change) {
			pauses = untilServed()
			tell(message{view: v, change: c})
		})
		if !meta.IsNoMatchError(err) || ctx.Err() != nil {
			tell(message{view: v, err: err})
			return
		}
		tell(message{view: v, gone: true, err: err})
		kind.Resource = ""
		// Who lists a kind and does not find it would be asked without a pause.
		if err := pause.For(ctx, pauses.Step()); err != nil {
			tell(message{view: v, err: err})
			return
		}
	}
}

// watch watches until ctx is done or nothing more can be told. The schema of a kind is
// published up to seconds after the kind itself is served; where a goal lacks it, it is
// asked for beside the watch until it is there.
func (e *Engine) watch(ctx context.Context, v *view, compiled map[*Goal]*conditions, tell func(message), change func(object.Change)) error {
	var fault error
	kind := v.sight.Kind
	ctx, end := context.WithCancel(ctx)
	var schema sync.WaitGroup
	if lackSchema(compiled) {
		schema.Go(func() {
			typed, err := e.untilPublished(ctx, kind, slices.Collect(maps.Keys(compiled)))
			switch {
			case err != nil:
				fault = err
				end()
			case typed != nil:
				tell(message{view: v, kind: kind, compiled: typed})
			}
		})
	}
	err := v.sight.Follow(ctx, change)
	end()
	schema.Wait()
	return cmp.Or(fault, err)
}

// untilPublished asks for the schema of a kind until there is one, and compiles the goals by
// it. It returns nil once ctx is done. A server without OpenAPI never has one, so it
// is asked ever more rarely.
func (e *Engine) untilPublished(ctx context.Context, kind object.Kind, goals []*Goal) (map[*Goal]*conditions, error) {
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 100, Cap: 30 * time.Second}
	for pause.For(ctx, pauses.Step()) == nil {
		schema, err := e.Source.Schema(ctx, kind)
		if err != nil || schema == nil {
			continue
		}
		compiled := map[*Goal]*conditions{}
		for _, goal := range goals {
			if compiled[goal], err = compileGoal(kind.GVK, schema, goal); err != nil {
				return nil, err
			}
		}
		return compiled, nil
	}
	return nil, nil
}

func lackSchema(compiled map[*Goal]*conditions) bool {
	for _, c := range compiled {
		if c.untyped {
			return true
		}
	}
	return false
}

// untilServed are the pauses between two times that a kind is looked for.
func untilServed() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.2, Jitter: 0.1, Steps: 100, Cap: 2 * time.Second}
}

// serve asks for the kind of the view until it is served, and compiles its goals.
func (e *Engine) serve(ctx context.Context, v *view, goals []*Goal, tell func(message)) (object.Kind, map[*Goal]*conditions, error) {
	pauses := untilServed()
	for {
		kind, err := e.Source.Resource(ctx, v.typ)
		if err == nil {
			compiled, err := e.compileAll(ctx, kind, goals)
			return kind, compiled, err
		}
		if !meta.IsNoMatchError(err) {
			return kind, nil, err
		}
		tell(message{view: v, gone: true, err: err})
		if err := pause.For(ctx, pauses.Step()); err != nil {
			return kind, nil, err
		}
	}
}

func (e *Engine) compileAll(ctx context.Context, kind object.Kind, goals []*Goal) (map[*Goal]*conditions, error) {
	compiled := map[*Goal]*conditions{}
	for _, goal := range goals {
		conds, err := e.compileFor(ctx, kind, goal)
		if err != nil {
			return nil, err
		}
		compiled[goal] = conds
	}
	return compiled, nil
}

func (e *Engine) compileFor(ctx context.Context, kind object.Kind, goal *Goal) (*conditions, error) {
	if kind.Resource == "" || !typed(goal, kind) {
		return compileGoal(kind.GVK, nil, goal)
	}
	schema, err := e.Source.Schema(ctx, kind)
	if err != nil {
		return nil, err
	}
	conds, err := compileGoal(kind.GVK, schema, goal)
	conds.untyped = schema == nil
	return conds, err
}

// goals are those that the view's objects have, each once.
func (v *view) goals() []*Goal {
	if v.goal != nil {
		return []*Goal{v.goal}
	}
	var goals []*Goal
	for _, it := range v.named {
		if !slices.Contains(goals, it.goal) {
			goals = append(goals, it.goal)
		}
	}
	return goals
}

// settled reports whether it is known what there is.
func (v *view) settled() bool { return v.synced || v.ended != nil || v.unserved != nil }

// what says in words what the view is of.
func (v *view) what() string {
	text := v.typ
	if v.kind.Resource != "" {
		text = v.kind.GVR().GroupResource().String()
	}
	return What(text, object.Selection{Namespace: v.namespace, Labels: v.labels})
}

// What says in words what of a type is selected.
func What(typ string, sel object.Selection) string {
	text := typ
	if sel.Labels != "" {
		text += " with labels " + sel.Labels
	}
	if sel.Fields != "" {
		text += " with fields " + sel.Fields
	}
	if sel.Namespace != "" {
		text += " in namespace " + sel.Namespace
	}
	return text
}

// split makes a view for each name of one that we may not list.
func (v *view) split() []*view {
	var views []*view
	for _, sight := range v.sight.Split(v.ended) {
		name := sight.Names[0]
		it := v.named[name]
		one := &view{
			sight: sight, typ: v.typ, kind: v.kind, namespace: v.namespace,
			named: map[string]*item{name: it}, compiled: v.compiled,
		}
		if !it.done {
			one.pending = 1
		}
		it.view = one
		views = append(views, one)
	}
	if views != nil {
		v.named, v.pending = map[string]*item{}, 0
	}
	return views
}
