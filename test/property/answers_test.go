package property_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/prompt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/give"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

var anAnswer = regexp.MustCompile(`\[(t|l|ta|la)\]`)

// Each answer of a prompt resolves the conflict: the same conflict is not asked about twice, and a
// run in which all are answered has none left. The printed flags have the same effect.
func TestOfferedAnswers(t *testing.T) {
	var conflicts, answered, refused int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us, Schema: func(object.Kind) openapi.Type { return published.Of(h.Published()) }}
		first, _ := applied(t, h.Copy(), h.manifest, p)
		if first.Action != event.InConflict {
			return
		}
		conflicts++
		var screen strings.Builder
		asked := 0
		d := prompt.Dialogue{
			Now: time.Now, Phases: 1,
			Say: func(lines ...string) { screen.WriteString(strings.Join(lines, "\n") + "\n") },
			Read: func(line string) (string, bool) {
				asked++
				offered := anAnswer.FindAllStringSubmatch(line, -1)
				if len(offered) == 0 {
					return "q", true
				}
				typed := pick(h.random, offered...)[1]
				screen.WriteString(line + typed + "\n")
				return typed, true
			},
		}
		defer func() {
			if t.Failed() {
				t.Log(screen.String())
			}
		}()
		server := h.Copy()
		var did event.Applied
		engine := apply.Engine{Server: server, Predictor: p, Emit: func(e event.Event) {
			if a, ok := e.(event.Applied); ok {
				did = a
			}
		}, Decide: func(_ context.Context, all []apply.Contested) [][]apply.Decision { return d.Decide(all) }}
		_ = engine.Run(t.Context(), planOf(t, server, h.manifest))
		switch {
		case did.Action == event.InConflict && did.Err == nil:
			t.Errorf("still in conflict over %v", did.Conflicts)
			return
		case did.Action == event.InConflict, did.Action == event.Failed:
			refused++
			return
		case asked > len(first.Conflicts):
			t.Errorf("%d questions about %d conflicts, want at most one each", asked, len(first.Conflicts))
		}
		answered++
		for _, flag := range d.Flags(object.Ref.Resource) {
			name, value, _ := strings.Cut(flag, "=")
			into := &p.Take
			if name == "--yield" {
				into = &p.Yield
			}
			*into = append(*into, parsed(t, []string{value})...)
		}
		again := h.Copy()
		if by, _ := applied(t, again, h.manifest, p); by.Action != did.Action || !sameContent(getFrom(t, server, h.manifest), getFrom(t, again, h.manifest)) {
			t.Errorf("the result is %s with the answers, but with the flags %v it is %s", did.Action, d.Flags(object.Ref.Resource), by.Action)
		}
	})
	t.Logf("%d conflicts, %d answered, %d refused", conflicts, answered, refused)
	if cases >= 300 && answered < cases/20 {
		t.Error("too few answers: the test proves nothing")
	}
}

// Agreeing, as a report of conflicts suggests, resolves the conflicts: with the live values in the
// manifest, there is no conflict, and no conflicting path changes.
func TestAgree(t *testing.T) {
	var conflicts, agreed int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		did, _ := applied(t, h.Server, h.manifest, predict.Predictor{Manager: us})
		if did.Action != event.InConflict || len(did.Unleavable) > 0 {
			return // the report suggests another version
		}
		conflicts++
		before := h.get(t)
		manifest := h.manifest.DeepCopy()
		for _, c := range did.Conflicts {
			if c.HasLive {
				fieldpath.Put(manifest.Object, c.Path, c.Live)
			} else {
				fieldpath.Delete(manifest.Object, c.Path)
			}
		}
		then, err := applied(t, h.Server, manifest, predict.Predictor{Manager: us})
		switch then.Action {
		case event.InConflict:
			t.Errorf("still in conflict over %v", then.Conflicts)
		case event.Failed:
			if did.Err == nil {
				t.Errorf("%v: %v", err, then.Err)
			}
		default:
			agreed++
			for _, c := range did.Conflicts {
				if after := h.get(t); !sameAt(c.Path, before, after) {
					t.Errorf("%s changed", c.Path)
				}
			}
		}
	})
	t.Logf("%d conflicts, %d settled", conflicts, agreed)
	if cases >= 300 && agreed < cases/20 {
		t.Error("too few settled conflicts: the test proves nothing")
	}
}

// give's report is right about the receiver's next apply: its conflicts or, if there are none, the
// values that it overwrites and the fields that it removes.
func TestGivePredictsNextApply(t *testing.T) {
	var foretold, contested, overwrote, removed int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		before := at(t, h.Server, h)
		entries, err := managedfields.Entries(before)
		if err != nil {
			t.Fatal(err)
		}
		givers := slices.DeleteFunc(slices.Clone(entries), func(e managedfields.Entry) bool { return e.Manager == us || e.Subresource != "" })
		if len(givers) == 0 || h.manifest.GetAPIVersion() != before.GetAPIVersion() {
			return
		}
		giver := pick(h.random, givers...)
		wish := transfer.Wish{
			From: []string{giver.Manager}, To: us, As: managedfields.Apply,
			Mode: pick(h.random, transfer.Move, transfer.Move, transfer.Share),
		}
		if paths := pathsIn(giver.Fields); len(paths) > 0 && h.one(2) {
			wish.Paths = append(wish.Paths, pick(h.random, paths...))
		}
		h.say(fmt.Sprintf("give %v from %s: %s", wish.Paths, giver.Owner, wish.Mode), nil)
		var given event.Given
		engine := give.Engine{Server: h.Server, Wish: wish, Emit: func(e event.Event) {
			if g, ok := e.(event.Given); ok {
				given = g
			}
		}}
		kind, err := h.Kind(t.Context(), h.manifest.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		_ = engine.Run(t.Context(), []give.Target{{Kind: kind, Ref: object.RefOf(h.manifest), Declared: h.manifest}})
		if given.Action != event.Handed || given.Next == nil || given.Next.Err != nil {
			return
		}
		foretold++
		was := h.get(t)
		_, err = h.Apply(t.Context(), object.Kind{}, h.manifest, object.Write{Manager: us})
		if err != nil && !predict.IsContested(err) {
			return // for example a list item without its key
		}
		met := predict.Predictor{Manager: us}.Contested(err, was, h.manifest)
		got, want := pathsOfConflicts(met), pathsOfConflicts(given.Next.After)
		for _, path := range got {
			if !slices.Contains(want, path) {
				t.Errorf("the apply has a conflict over %s that was not predicted", path)
			}
		}
		for _, c := range given.Next.After { // the server makes the sender the owner of defaults that it sets again
			_, isMap := c.Live.(map[string]any)
			if _, staysMap := c.Yours.(map[string]any); isMap && !staysMap {
				continue // keeps owners of an emptied map that becomes another type
			}
			if !slices.Contains(got, c.Path.String()) && slices.ContainsFunc(c.Owners, func(o managedfields.Owner) bool { return holds(t, was, o, c.Path) }) {
				t.Errorf("the apply has no conflict over %s with %v, but one was predicted", c.Path, c.Owners)
			}
		}
		if len(met) > 0 {
			contested++
		}
		if err != nil {
			return
		}
		after := h.get(t)
		for _, c := range given.Next.Overwrites {
			overwrote++
			if sameAt(c.Path, was, after) {
				t.Errorf("%s was predicted to be overwritten, but was not", c.Path)
			}
		}
		for _, p := range given.Next.Removes {
			removed++
			if v, there := p.Get(after.Object); there && !hollow(v) && holds(t, after, managedfields.Owner{Manager: us, Operation: managedfields.Apply, APIVersion: after.GetAPIVersion()}, p) {
				t.Errorf("%s was predicted to be removed, but was not", p) // a default is set again, without an owner
			}
		}
	})
	t.Logf("%d predictions, %d with conflicts, %d values overwritten, %d fields removed", foretold, contested, overwrote, removed)
	if cases >= 300 && (foretold < cases/10 || removed < cases/50) {
		t.Error("too few predictions or removals: the test proves nothing")
	}
}

func pathsOfConflicts(all []managedfields.Conflict) []string {
	var out []string
	for _, c := range all {
		out = append(out, c.Path.String())
	}
	slices.Sort(out)
	return out
}
