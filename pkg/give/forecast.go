package give

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/nextapply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// forecast predicts the receiver's next apply; it returns nil if the receiver does not apply. It derives
// the conflicts after the transfer from the current ones, by removing the managers that gave the field
// away.
func (e *Engine) forecast(ctx context.Context, t Target, live *unstructured.Unstructured, w transfer.Wish, entries []managedfields.Entry, done transfer.Outcome) *event.NextApply {
	if t.Declared == nil || w.Mode == transfer.Release || w.As == managedfields.Update {
		return nil
	}
	next := &event.NextApply{Manager: w.To, Manifest: t.Manifest}
	apply := nextapply.Apply{Kind: t.Kind, Declared: t.Declared, Live: live, Manager: w.To, Validation: cmp.Or(t.Validation, metav1.FieldValidationIgnore)}
	forecast := nextapply.Ask(ctx, e.Server, apply)
	next.Refused = redact.Error(t.Declared, forecast.Refused)
	if next.Err = forecast.Unknown; next.Err != nil && len(forecast.Conflicts) == 0 {
		return next
	}
	isOwn := func(o managedfields.Owner) bool {
		return t.Migrates && o.Manager == w.To && o.Operation == managedfields.Update && o.Subresource == ""
	}
	forecast.Conflicts = slices.DeleteFunc(forecast.Conflicts, func(c managedfields.Conflict) bool {
		return len(c.Owners) > 0 && !slices.ContainsFunc(c.Owners, func(o managedfields.Owner) bool { return !isOwn(o) })
	})
	next.Before = redact.Conflicts(t.Ref, forecast.Conflicts)
	for _, c := range next.Before {
		c.Owners = slices.DeleteFunc(remaining(c, done.Entries, w.To), isOwn)
		if len(c.Owners) > 0 {
			next.After = append(next.After, c)
			continue
		}
		// A different spelling of the same value is not a change.
		if forecast.Forced == nil || !c.Path.Same(live.Object, forecast.Forced.Object) {
			next.Overwrites = append(next.Overwrites, c.Change())
		}
	}
	next.Guarded, next.StillGuarded = guarded(w, entries), guarded(w, done.Entries)
	next.Removes = undeclared(w, done)
	return next
}

// remains predicts the receiver's next apply of an object that stays as it is. It returns nil if that
// apply would succeed.
func (e *Engine) remains(ctx context.Context, t Target, live *unstructured.Unstructured, w transfer.Wish, entries []managedfields.Entry) *event.NextApply {
	next := e.forecast(ctx, t, live, w, entries, transfer.Outcome{Entries: entries})
	if next == nil || len(next.After) == 0 && next.Refused == nil && next.Err == nil {
		return nil
	}
	return next
}

// guarded counts the fields of the receiver's manifest that other owners own.
func guarded(w transfer.Wish, entries []managedfields.Entry) int {
	set := fieldpath.NewSet()
	for _, e := range managedfields.Others(entries, w.To) {
		fieldpath.Each(e.Fields.Leaves(), func(p fieldpath.Path) {
			if _, declared := p.Get(w.Declared); declared {
				fieldpath.Insert(set, p.Clone())
			}
		})
	}
	return set.Size()
}

// undeclared returns the fields that only the receiver owns and that its manifest lacks.
func undeclared(w transfer.Wish, done transfer.Outcome) []fieldpath.Path {
	var out []fieldpath.Path
	for _, g := range done.Given {
		if _, declared := g.Path.Get(w.Declared); declared || g.Inner || g.Shared || g.To.Operation != managedfields.Apply {
			continue
		}
		if others := managedfields.HoldersOf(done.Entries, g.Path); len(others) == 1 {
			out = append(out, g.Path)
		}
	}
	return out
}

// Next compares the listed objects with the manifests for a tool's next run.
type Next struct {
	// Targets are the listed objects that are also in the manifests.
	Targets []Target
	// Gone lists the objects that were listed but are not in the manifests. The tool's next run
	// deletes them.
	Gone []object.Ref
	// Beyond is the number of unlisted objects in the manifests.
	Beyond int
}

// Meet matches manifests with listed objects. kindOf returns the kind as the server serves it.
// applied returns the manifest as the tool applies it.
func Meet(
	listed []Target, manifests []object.Manifest,
	kindOf func(schema.GroupVersionKind) (object.Kind, error), applied func(*unstructured.Unstructured) *unstructured.Unstructured,
) (Next, error) {
	// identity identifies an object regardless of its API version.
	type identity struct {
		kind            schema.GroupKind
		namespace, name string
	}
	declared := map[identity]*unstructured.Unstructured{}
	for _, m := range manifests {
		u := m.Object
		declared[identity{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}] = u
	}
	var next Next
	var faults []error
	for _, t := range listed {
		at := identity{t.Ref.GVK.GroupKind(), t.Ref.Namespace, t.Ref.Name}
		if declared[at] == nil {
			at.namespace = ""
		}
		u := declared[at]
		if u == nil {
			next.Gone = append(next.Gone, t.Ref)
			continue
		}
		delete(declared, at)
		kind, err := kindOf(u.GroupVersionKind())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		u = applied(u.DeepCopy())
		u.SetNamespace(t.Ref.Namespace)
		t.Kind, t.Ref.GVK, t.Declared = kind, kind.GVK, u
		next.Targets = append(next.Targets, t)
	}
	next.Beyond = len(declared)
	return next, errors.Join(faults...)
}

// survey shows whether a giver that owns nothing is a typo, or has already given everything away.
type survey struct {
	wish   transfer.Wish
	owners map[string]bool
	given  bool
	// silent suppresses the warnings about managers that own nothing. It is set, for example, if an
	// object could not be read.
	silent bool
}

func (c *survey) add(out event.Given, entries []managedfields.Entry) {
	for _, e := range entries {
		c.owners[e.Manager] = true
	}
	c.given = c.given || out.Action == event.Handed
	done := len(c.wish.Paths) > 0 && out.Action == event.Unchanged && out.Reason == ""
	c.silent = c.silent || out.Action == event.Unknown || done || transfer.Missing(out.Err)
}

// strangers returns the givers that own nothing: those that are probably typos (slips), and those
// that have already given everything away (done).
func (c *survey) strangers() (slips, done []string) {
	if c.silent {
		return nil, nil
	}
	owners := slices.Sorted(maps.Keys(c.owners))
	for _, name := range c.wish.From {
		switch {
		case c.owners[name]:
		case repeated(c.wish, name, owners, c.given):
			done = append(done, name)
		default:
			slips = append(slips, name)
		}
	}
	return slips, done
}

func (c *survey) text(strangers []string, objects int) string {
	return fmt.Sprintf("--from: %s owns nothing in the %s", strings.Join(strangers, " or "), text.Count(objects, "object"))
}

func (c *survey) slip(slips []string, objects int) string {
	owners := slices.Sorted(maps.Keys(c.owners))
	message := c.text(text.AllWithSuggestions(slips, owners), objects)
	if len(owners) == 0 {
		return message + "; no manager owns anything in them"
	}
	return message + "; managers that own something: " + strings.Join(owners, ", ")
}

func (c *survey) repetition(done []string, objects int) string {
	return c.text(done, objects) + ", so there is nothing to give: the fields were given away before, or the name is wrong; " +
		"managers that own something: " + strings.Join(slices.Sorted(maps.Keys(c.owners)), ", ")
}

// repeated reports whether a giver that owns nothing has probably given everything away before. The
// wish must already be fulfilled, and no owner may have a similar name. It returns false if the
// wish's mode is Share or the wish names paths.
func repeated(w transfer.Wish, giver string, owners []string, received bool) bool {
	switch {
	case w.Mode == transfer.Share, len(w.Paths) > 0:
		return false
	case len(owners) == 0, w.Mode != transfer.Release && !received && !slices.Contains(owners, w.To):
		return false
	}
	// The giver's name cannot be a misspelling of the receiver's name or of another giver's name,
	// because the user gave those names as well.
	others := slices.DeleteFunc(slices.Clone(owners), func(name string) bool {
		return name == w.To || slices.Contains(w.From, name)
	})
	return text.Nearest(giver, others) == ""
}

// repetition reports whether an error means only that all givers gave everything away before.
func repetition(w transfer.Wish, err error, entries []managedfields.Entry) bool {
	if _, nothing := errors.AsType[*transfer.NothingError](err); !nothing {
		return false
	}
	owners := make([]string, len(entries))
	for i, e := range entries {
		owners[i] = e.Manager
	}
	return !slices.ContainsFunc(w.From, func(giver string) bool { return !repeated(w, giver, owners, false) })
}
