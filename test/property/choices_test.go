package property_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/published"
)

// printed matches the flags below a conflict.
type printed struct{ take, yield, adopt []string }

var aFlag = regexp.MustCompile(`--(take|yield|adopt-from)=(?:'((?:[^']|'\\'')*)'|(\S+))`)

// flagsBelow prints a conflict and returns the suggested flags.
func flagsBelow(t *testing.T, did event.Applied) (printed, string) {
	t.Helper()
	var out bytes.Buffer
	p, err := printer.For(printer.OfApply, output.Options{Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	p.Print(did)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var message printed
	for _, m := range aFlag.FindAllStringSubmatch(out.String(), -1) {
		value := m[3]
		if value == "" {
			value = strings.ReplaceAll(m[2], `'\''`, "'")
		}
		switch m[1] {
		case "take":
			message.take = append(message.take, value)
		case "yield":
			message.yield = append(message.yield, value)
		default:
			message.adopt = append(message.adopt, value)
		}
	}
	return message, out.String()
}

func parsed(t *testing.T, values []string) []predict.Choice {
	t.Helper()
	var all []predict.Choice
	for _, value := range values {
		some, err := predict.ParseChoices(value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// Each printed choice, pasted into one run, has its effect: a taken field is ours with our value, a
// left one keeps its value and owners, and an adopted one no longer belongs to the other manager.
// The run with all choices has no conflict, and neither has its repetition.
func TestPrintedChoices(t *testing.T) {
	var conflicts, settled, refused int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		before := h.get(t)
		did, _ := applied(t, h.Server, h.manifest, predict.Predictor{Manager: us})
		if did.Action != event.InConflict || len(did.Conflicts) > 5 {
			return // more are not all printed
		}
		conflicts++
		message, text := flagsBelow(t, did)
		defer func() {
			if t.Failed() {
				t.Log(text)
			}
		}()
		if len(message.yield) != len(did.Conflicts) {
			t.Errorf("%d choices to yield, want %d, one for each conflict", len(message.yield), len(did.Conflicts))
		}
		j := judge{history: h, before: before, did: did}
		takes := slices.DeleteFunc(slices.Clone(message.take), func(v string) bool { return v == "all" })
		run := func(name string, p predict.Predictor, taken, left []managedfields.Conflict) {
			p.Manager = us
			p.Schema = func(object.Kind) openapi.Type { return published.Of(h.Published()) }
			if j.settles(t, name, p, taken, left) {
				settled++
			} else {
				refused++
			}
		}
		run("leave all", predict.Predictor{Yield: parsed(t, message.yield)}, nil, did.Conflicts)
		for _, from := range message.adopt {
			run("adopt", predict.Predictor{AdoptFrom: adopt.From{Always: []string{from}}}, did.Conflicts, nil)
		}
		if len(takes) != len(did.Conflicts) {
			return // the report says that it would be refused
		}
		run("take all", predict.Predictor{Take: []predict.Choice{{}}}, did.Conflicts, nil)
		run("take each", predict.Predictor{Take: parsed(t, takes)}, did.Conflicts, nil)
		for i := range did.Conflicts {
			others := slices.Delete(slices.Clone(did.Conflicts), i, i+1)
			run("take one, leave the rest", predict.Predictor{
				Take: parsed(t, takes[i:i+1]), Yield: parsed(t, slices.Delete(slices.Clone(message.yield), i, i+1)),
			}, did.Conflicts[i:i+1], others)
		}
	})
	t.Logf("%d conflicts, %d runs settled, %d refused", conflicts, settled, refused)
	if cases >= 300 && conflicts < cases/20 {
		t.Error("too few conflicts: the test proves nothing")
	}
}

// judge compares runs with choices with the server.
type judge struct {
	*history
	before *unstructured.Unstructured
	did    event.Applied
}

// settles runs an apply with choices on a copy of the server. It returns false if the server
// refuses it for a reason other than ownership.
func (j judge) settles(t *testing.T, name string, p predict.Predictor, taken, left []managedfields.Conflict) bool {
	t.Helper()
	server := j.Copy()
	did, err := applied(t, server, j.manifest, p)
	after := getFrom(t, server, j.manifest)
	switch did.Action {
	case event.InConflict:
		t.Errorf("%s: still in conflict over %v", name, did.Conflicts)
		return true
	case event.Failed:
		if j.did.Err == nil {
			t.Errorf("%s: %v: %v", name, err, did.Err)
		}
		return false // the report says that the server would refuse it
	}
	for _, c := range left {
		if !sameAt(c.Path, j.before, after) {
			t.Errorf("%s: %s was left to its owners, but its value changed", name, c.Path)
		}
		for _, owner := range c.Owners {
			if !holds(t, after, owner, c.Path) {
				t.Errorf("%s: %s was left to its owners, but %s no longer owns it", name, c.Path, owner)
			}
		}
	}
	for _, c := range taken {
		for _, owner := range c.Owners {
			if holds(t, after, owner, c.Path) {
				t.Errorf("%s: %s was taken, but %s still owns it", name, c.Path, owner)
			}
		}
	}
	p.Take = nil
	p.AdoptFrom = adopt.From{}
	again, _ := applied(t, server, j.manifest, p)
	for _, c := range again.Conflicts { // the server may empty a map whose contents others own
		if slices.ContainsFunc(j.did.Conflicts, func(was managedfields.Conflict) bool { return was.Path.Equal(c.Path) }) {
			t.Errorf("%s: the next run is in conflict over %v again", name, c.Path)
		}
	}
	return true
}

func getFrom(t *testing.T, s *Server, manifest *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	h := &history{Server: s, manifest: manifest}
	return h.get(t)
}

func holds(t *testing.T, u *unstructured.Unstructured, owner managedfields.Owner, path fieldpath.Path) bool {
	t.Helper()
	entries, err := managedfields.Entries(u)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(entries, func(e managedfields.Entry) bool { return e.SameEntry(owner) && fieldpath.Holds(e.Fields, path) })
}
