package history_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
)

// world is the history of a set in a cluster, together with what really happened.
type world struct {
	t       *testing.T
	random  *rand.Rand
	secrets map[string]*unstructured.Unstructured
	lease   string
	// turns counts the holders of the lock; noted is the holder that wrote the note.
	turns, noted int
	now          time.Time
	// declared has all runs with manifests, the oldest first. The test compares the history with it.
	declared []reported
	// lost means that a run was deleted, or that its Secrets were never written. former means that
	// a former version wrote a run. early means that a run was killed before it renewed the Lease,
	// so that the Lease does not record it.
	lost, former, large, early bool
	// unsure means that a run could not find out which run it follows.
	unsure bool
}

type reported struct {
	input   string
	applied bool
}

func (w *world) kept(heads bool) history.Kept {
	last, err := history.ReadNote(w.lease)
	if err != nil {
		w.t.Fatal(err)
	}
	kept := history.Kept{Last: last}
	secrets := slices.Collect(maps.Values(w.secrets))
	if kept.Runs, kept.Faults = history.Decode(secrets); heads {
		kept.Runs, kept.Faults = history.Heads(secrets)
	}
	return kept
}

func (w *world) write(run history.Run, former bool) {
	for _, u := range encode(w.t, run) {
		if former {
			notes := u.GetAnnotations()
			delete(notes, "k8sconnect.io/history-format")
			delete(notes, "k8sconnect.io/place")
			u.SetAnnotations(notes)
		}
		w.secrets[u.GetName()] = u
	}
}

func (w *world) note(run history.Run) {
	text, err := history.Note(run)
	if err != nil {
		w.t.Fatal(err)
	}
	w.lease, w.noted, w.early = text, w.turns, false
}

// chance returns true once in n calls on average.
func (w *world) chance(n int) bool { return w.random.IntN(n) == 0 }

// run does one run of this version.
func (w *world) run(id, input string) {
	sure := w.noted == w.turns
	w.now, w.turns = w.now.Add(time.Minute), w.turns+1
	run := runOf(id, history.Running, configMap("a", input))
	run.Input, run.Started = input, w.now.Add(time.Duration(w.random.IntN(240)-120)*time.Minute) // CI clocks differ.
	if w.former {
		run.Started = w.now // A former version orders runs by time.
	}
	run.TooLarge = w.chance(12)
	unlisted := w.chance(8)
	var again bool
	if unlisted {
		last, _ := history.ReadNote(w.lease)
		run = history.Unlisted(last, run, sure)
		w.unsure = w.unsure || !run.Place.Known
	} else if run, again = w.kept(true).Follow(run); again {
		if newest, ok := w.kept(true).Newest(); ok && newest.Place.Number > 0 {
			w.note(newest)
		}
		return
	}
	w.large = w.large || run.TooLarge
	refused := unlisted || w.chance(10)
	w.lost = w.lost || refused
	if !refused {
		w.write(run, false)
	}
	w.declared = append(w.declared, reported{input: input})
	if !refused && w.chance(8) {
		w.early = true
		return
	}
	w.note(run)
	if w.chance(8) {
		return // The run was killed after its first note.
	}
	if run.Result = history.Applied; w.chance(4) {
		run.Result = history.Failed
	}
	w.declared[len(w.declared)-1].applied = run.Result == history.Applied
	if w.note(run); !refused && !w.chance(10) { // A write may fail because of a quota or a missing permission.
		w.write(run, false)
		w.trim()
	}
}

func (w *world) trim() {
	for _, u := range history.Excess(slices.Collect(maps.Values(w.secrets)), w.random.IntN(4)) {
		delete(w.secrets, u.GetName())
	}
}

// runFormer does one run of a former version, which does not record the places of runs.
func (w *world) runFormer(id, input string) {
	w.now, w.turns = w.now.Add(time.Minute), w.turns+1
	run := runOf(id, history.Applied, configMap("a", input))
	run.Input, run.Started = input, w.now
	if heads := w.byTime(); len(heads) > 0 && heads[0].Usable() && heads[0].Input == input {
		return
	}
	if w.chance(4) {
		run.Result = history.Failed
	}
	w.write(run, true)
	w.declared = append(w.declared, reported{input, run.Result == history.Applied})
}

// byTime returns the runs in the order that a former version gives them.
func (w *world) byTime() []history.Run {
	runs := w.kept(true).Runs
	slices.SortFunc(runs, func(a, b history.Run) int { return b.Started.Compare(a.Started) })
	return runs
}

// remove deletes a run by hand, unless no other record would show that the run existed.
func (w *world) remove() {
	if names := slices.Sorted(maps.Keys(w.secrets)); len(names) > 0 && !w.early {
		delete(w.secrets, names[w.random.IntN(len(names))])
		w.lost = true
	}
}

// want returns the run that a rollback must lead to, derived from everything that happened.
func (w *world) want() string {
	for i := len(w.declared) - 2; i >= 0; i-- {
		if w.declared[i].applied {
			return w.declared[i].input
		}
	}
	return ""
}

// has reports whether the history has all manifests of a run.
func (w *world) has(input string) bool {
	found, same := 0, 0
	for _, r := range w.kept(false).Runs {
		if r.Input == input && !r.TooLarge {
			found++
		}
	}
	for _, s := range w.declared {
		if s.input == input {
			same++
		}
	}
	return found > 0 && same == 1
}

// Even if parts of the history are missing, a rollback leads to the last successful run before the
// last run, or fails. It never leads to an older run. With a complete history, it never fails.
func TestRollbackNeverGoesTooFarBack(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		w := &world{t: t, random: rand.New(rand.NewPCG(15, seed)), secrets: map[string]*unstructured.Unstructured{}, now: begun}
		former := w.chance(2)
		for i := range 4 + w.random.IntN(10) {
			id := fmt.Sprint("run", i)
			if w.chance(4) {
				id = "job" // People choose ids.
			}
			input := fmt.Sprint("sha256:", i)
			if w.chance(5) {
				input = fmt.Sprint("sha256:", w.random.IntN(i+1)) // a repeated job, or a rollback
			}
			switch {
			case former && i < 3, former && w.chance(5):
				w.former = true
				w.runFormer(id, input)
			default:
				w.run(id, input)
			}
			if !former && w.chance(5) {
				w.remove()
			}
			got, err := w.kept(false).To("")
			switch want := w.want(); {
			case err == nil && got.Input != want:
				t.Fatalf("seed %d, run %d: the rollback leads to %s, want %q of %v", seed, i, got.Input, want, w.declared)
			case err != nil && want != "" && !w.lost && !w.large:
				t.Fatalf("seed %d, run %d: %v, want %s of %v", seed, i, err, want, w.declared)
			case err != nil && !w.former && !w.unsure && w.has(want):
				t.Fatalf("seed %d, run %d: got error %v, but the target %s is in the history of %v", seed, i, err, want, w.declared)
			}
		}
	}
}

// chain encodes runs of this version, the oldest first, in the notation of past. It also returns
// the last run.
func chain(t *testing.T, results string) (secrets []*unstructured.Unstructured, last history.Run) {
	t.Helper()
	for i, letter := range results {
		kept := history.Kept{Last: last}
		kept.Runs, kept.Faults = history.Heads(secrets)
		run := runOf(fmt.Sprint("run", i), history.Applied, configMap("a", fmt.Sprint(i)))
		run.Input, run.Started = fmt.Sprint("sha256:", i), begun.Add(time.Duration(i)*time.Minute)
		switch letter {
		case 'F':
			run.Result = history.Failed
		case 'L':
			run.TooLarge = true
		}
		last, _ = kept.Follow(run)
		secrets = append(secrets, encode(t, last)...)
	}
	return secrets, last
}

func of(secrets []*unstructured.Unstructured, last history.Run) history.Kept {
	kept := history.Kept{Last: last}
	kept.Runs, kept.Faults = history.Decode(secrets)
	return kept
}

// refused checks that an error has the reason, and a hint that names the runs.
func refused(t *testing.T, err error, why, hint string) {
	t.Helper()
	var hinted interface{ Hint() string }
	if err == nil || !strings.Contains(err.Error(), why) || !errors.As(err, &hinted) || namesIn(hinted.Hint()) != hint {
		t.Errorf("%v, want one with %q and the hint %q", err, why, hint)
	}
}

// namesIn returns the names of the runs in a hint. It checks that the hint has the time and user of
// each run.
func namesIn(hint string) string {
	lines := strings.Split(hint, "\n")
	for i, line := range lines[1:] {
		lines[i+1] = regexp.MustCompile(`^    (\S+) of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, by jane@laptop(: failed)?$`).ReplaceAllString(line, "$1")
	}
	return strings.Replace(strings.Join(lines, ", "), ":, ", ": ", 1)
}

// If the last run is missing from the history, a rollback has the same target. If the target is
// missing, the error names the target and the remaining runs. A user cannot choose a missing run,
// either.
func TestGap(t *testing.T) {
	secrets, last := chain(t, "AAAF")
	without := of(secrets[:3], last)
	if got, err := without.To(""); err != nil || got.ID != "run2" {
		t.Errorf("without the last run: the rollback leads to %s, %v, want run2", got.ID, err)
	}
	if newest, ok := without.Newest(); !ok || newest.ID != "run3" || without.Keeps(newest) || !of(secrets, last).Keeps(newest) {
		t.Errorf("the newest run is %s, %v, want run3, which the history does not keep", newest.ID, ok)
	}
	// The missing run is not listed. All others are listed, even a failed run.
	for want, kept := range map[string]history.Kept{
		"run3 failed, run2 applied, run1 applied, run0 applied": of(secrets, last), "run2 applied, run1 applied, run0 applied": without,
	} {
		var got []string
		for _, r := range kept.List() {
			got = append(got, r.Name+" "+string(r.Result))
			if !strings.HasPrefix(r.Line, r.Name+" of 20") || !strings.HasSuffix(r.Line, "Z, by jane@laptop") {
				t.Errorf("line %q", r.Line)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got list %v, want %s", got, want)
		}
	}
	gap := of(append(secrets[:2:2], secrets[3]), last)
	_, err := gap.To("")
	refused(t, err, "run2: it is not in the history", "available runs: run3, run1, run0")
	_, err = without.To("run3")
	refused(t, err, "run3: it is not in the history", "available runs: run2, run1, run0")
	// Even without the Lease, the history shows which run the last run followed.
	_, err = of(append(secrets[:2:2], secrets[3]), history.Run{}).To("")
	refused(t, err, "run2: it is not in the history", "available runs: run3, run1, run0")
}

// A run with the same input as the last run is recorded only if the last run is not in the history.
// A run that is not stored knows its predecessor only if the note is certainly of the last run.
func TestFollow(t *testing.T) {
	secrets, last := chain(t, "AAA")
	repeated := history.Run{ID: "again", Input: last.Input}
	if _, again := of(secrets, last).Follow(repeated); !again {
		t.Error("a repetition of the last run is recorded as another run")
	}
	placed, again := of(secrets[:2], last).Follow(repeated)
	if again || placed.Place.Before != last.Name() || placed.Place.Number != 4 {
		t.Errorf("last run missing from the history: repeated is %v, place is %+v", again, placed.Place)
	}
	failed, last := chain(t, "AF")
	if placed, again := of(failed, last).Follow(history.Run{ID: "again", Input: last.Input}); again || placed.Place.Before.ID != "run0" {
		t.Errorf("last run failed: repeated is %v, place is %+v", again, placed.Place)
	}
	for _, test := range []struct {
		last        history.Run
		sure, known bool
	}{{last, true, true}, {last, false, false}, {history.Run{}, true, false}} {
		if place := history.Unlisted(test.last, repeated, test.sure).Place; place.Known != test.known || place.Number < 1 {
			t.Errorf("%+v", place)
		}
	}
	_, err := of(secrets, history.Unlisted(last, history.Run{ID: "unsure", Result: history.Applied}, false)).To("")
	refused(t, err, "the run before run unsure is not recorded", "name one with --to; available runs: run2, run1, run0")
}

// A former version does not record the place of a run, and overwrites the place of a run that it
// repeats. In this case, the start time decides.
func TestFormerVersion(t *testing.T) {
	secrets, last := chain(t, "AAA")
	former := func(i int, after time.Duration) {
		run := runOf(fmt.Sprint("run", i), history.Applied, configMap("a", fmt.Sprint(i)))
		run.Input, run.Started = fmt.Sprint("sha256:", i), begun.Add(after)
		secret := encode(t, run)[0]
		annotated([]*unstructured.Unstructured{secret}, "k8sconnect.io/history-format", "")
		secrets = append(slices.DeleteFunc(secrets, func(u *unstructured.Unstructured) bool { return u.GetName() == secret.GetName() }), secret)
	}
	former(3, time.Hour)
	if got, err := of(secrets, last).To(""); err != nil || got.ID != "run2" {
		t.Errorf("the rollback leads to %s, %v, want run2", got.ID, err)
	}
	former(2, 2*time.Hour)
	if got, err := of(secrets, last).To(""); err != nil || got.ID != "run3" {
		t.Errorf("the rollback leads to %s, %v, want run3", got.ID, err)
	}
	next, _ := of(secrets, last).Follow(history.Run{ID: "run4", Input: "sha256:4"})
	if next.Place.Before.ID != "run2" || next.Place.Number != 4 {
		t.Errorf("%+v", next.Place)
	}
}

// Runs are ordered by their numbers, not by the clocks of their machines.
func TestRunsAreOrderedByNumberNotClock(t *testing.T) {
	secrets, _ := chain(t, "AAAA")
	annotated(secrets[3:], "k8sconnect.io/started", begun.Add(-time.Hour).Format(time.RFC3339Nano))
	var gone []string
	for _, u := range history.Excess(secrets, 3) {
		gone = append(gone, u.GetAnnotations()["k8sconnect.io/run"])
	}
	runs, _ := history.Decode(secrets)
	if len(gone) != 1 || gone[0] != "run0" || runs[0].ID != "run3" {
		t.Errorf("%s are deleted and %s is the newest run, want run0 and run3", gone, runs[0].ID)
	}
}

// A rollback that did not succeed is continued: without an id, each repetition has the same target,
// whatever became of it, and whether or not the run is stored. A rollback that succeeded is a run
// like any other. The first apply after an unfinished rollback can be rolled back to that target, but
// not to the run that the rollback was to leave.
func TestRollbackIsContinued(t *testing.T) {
	for name, test := range map[string]struct {
		result        history.Result
		again, undone string // the targets of the next rollback, and of the one after another apply
	}{
		"killed":      {history.Running, "run0", "run0"},
		"failed":      {history.Failed, "run0", "run0"},
		"rolled back": {history.RolledBack, "run0", "run1"},
		"succeeded":   {history.Applied, "run1", "back1"},
	} {
		for _, stored := range []bool{true, false} {
			secrets, last := chain(t, "AA")
			target := history.Name{ID: "run0", Input: "sha256:0"}
			follow := func(id string, result history.Result, to history.Name) {
				kept := of(secrets, last)
				run := runOf(id, result, configMap("a", id))
				run.Input, run.Place.RollbackTo = "sha256:"+id, to
				if last, _ = kept.Follow(run); stored {
					secrets = append(secrets, encode(t, last)...)
				}
				text, err := history.Note(last)
				if err != nil {
					t.Fatal(err)
				}
				if last, err = history.ReadNote(text); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 2 {
				follow(fmt.Sprint("back", i), test.result, target)
				if got, err := of(secrets, last).To(""); got.ID != test.again && (stored || test.result != history.Applied) {
					t.Errorf("%s, stored %t: rollback %d leads to %q (%v), want %s", name, stored, i+2, got.ID, err, test.again)
				}
				if test.result == history.Applied {
					test.again = "back0"
				}
			}
			follow("fix", history.Applied, history.Name{})
			if got, err := of(secrets, last).To(""); got.ID != test.undone && (stored || test.result != history.Applied) {
				t.Errorf("%s, stored %t: after another apply, a rollback leads to %q (%v), want %s", name, stored, got.ID, err, test.undone)
			}
		}
	}
}

func TestRollbackDoesNotSkipTooLargeRun(t *testing.T) {
	for _, results := range []string{"ALA", "ALF"} {
		secrets, last := chain(t, results)
		_, err := of(secrets, last).To("")
		want := "available runs: run2, run0"
		refused(t, err, "run1: its manifests were too large for the history", want)
		// The same is true for a former version, which does not record the places of runs.
		for _, u := range secrets {
			annotated([]*unstructured.Unstructured{u}, "k8sconnect.io/place", "")
		}
		_, err = of(secrets, history.Run{}).To("")
		refused(t, err, "run1: its manifests were too large for the history", want)
	}
}

// A later version may store its history in another format, so the last run is unknown. The Secrets
// of the later version stay, and a user can choose a readable run.
func TestLaterVersion(t *testing.T) {
	secrets, last := chain(t, "AAA")
	annotated(secrets[2:], "k8sconnect.io/history-format", "2")
	secrets = append(secrets, secrets[2]) // a second part
	if faults := of(secrets, last).Faults; len(faults) != 1 {
		t.Errorf("%v", faults)
	}
	const want = "name one with --to; available runs: run1, run0"
	for name, kept := range map[string]history.Kept{"with its Lease": of(secrets, last), "without its Lease": of(secrets, history.Run{})} {
		_, err := kept.To("")
		refused(t, err, "it is unknown which run to roll back to: run run2 in the history: it was written by a later version (format 2", want)
		if got, err := kept.To("run1"); err != nil || got.ID != "run1" {
			t.Errorf("%s: %s, %v", name, got.ID, err)
		}
	}
	_, err := of(secrets, history.Run{}).To("run2")
	refused(t, err, "run2: it was written by a later version", "available runs: run1, run0")
	if excess := history.Excess(secrets, 0); len(excess) != 0 {
		t.Errorf("%d go", len(excess))
	}
	next, again := of(secrets, history.Run{}).Follow(runOf("run3", history.Applied, configMap("a", "1")))
	if again || next.Place.Known || next.Place.Number < 3 {
		t.Errorf("%v %+v", again, next.Place)
	}
	// The last run is also unknown if the note in the Lease has a later format or is unreadable.
	for _, text := range []string{`{"format":2,"run":"run2"}`, `{"format":"2","run":["run2"]}`, `{`, `{"format":1}`, `{"format":1,"run":"a"}`, `{"format":1,"number":1}`, `{"format":1,"run":"a","number":"x"}`, `{"run":"a","number":1}`} {
		_, err := history.ReadNote(text)
		if err == nil {
			t.Errorf("ReadNote(%s) returned no error", text)
		}
		kept := of(secrets[:2], history.Run{})
		kept.Faults = append(kept.Faults, err)
		_, err = kept.To("")
		refused(t, err, "it is unknown which run to roll back to: the last run, as recorded", "name one with --to; available runs: run1, run0")
	}
}

func TestNote(t *testing.T) {
	_, last := chain(t, "AF")
	text, err := history.Note(last)
	if err != nil {
		t.Fatal(err)
	}
	got, err := history.ReadNote(text)
	last.Objects, last.Who = nil, ""
	if err != nil || !reflect.DeepEqual(got, last) {
		t.Errorf("%v\n%+v\n%+v", err, got, last)
	}
	if none, err := history.ReadNote(""); err != nil || none.ID != "" {
		t.Errorf("%+v, %v", none, err)
	}
}
