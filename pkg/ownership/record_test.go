package ownership_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// taken returns a path that goes from one applier to another.
func taken(path, from, to string) ownership.Transition {
	owner := func(name string) []managedfields.Owner {
		return []managedfields.Owner{{Manager: name, Operation: "Apply", APIVersion: "v1"}}
	}
	return ownership.Transition{
		Path: fieldpath.Field("spec", path), Kind: ownership.Taken, Before: owner(from), After: owner(to), Forced: true,
	}
}

// minute returns an occasion some minutes after noon, with its own resource version.
func minute(n int) ownership.Occasion {
	return ownership.Occasion{ResourceVersion: fmt.Sprint(1000 + n), Time: noon.Add(time.Duration(n) * time.Minute)}
}

// lines formats entries as "path from>to ×count first-last", in minutes after noon.
func lines(r ownership.Record) []string {
	var out []string
	for _, e := range r.Entries {
		since := func(t metav1.Time) string { return fmt.Sprint(t.Sub(noon).Minutes()) }
		out = append(out, fmt.Sprintf("%s %s>%s ×%d %s-%s", e.Path, e.From[0].Manager, e.To[0].Manager, e.Count, since(e.First), since(e.Last)))
	}
	return out
}

func TestRecordFolds(t *testing.T) {
	type step struct {
		ownership.Transition
		minute int
	}
	tests := map[string]struct {
		steps []step
		want  []string
	}{
		"one": {
			steps: []step{{taken("a", "flux", "argo"), 0}},
			want:  []string{".spec.a flux>argo ×1 0-0"},
		},
		"back and forth several times": {
			steps: []step{{taken("a", "flux", "argo"), 0}, {taken("a", "argo", "flux"), 1}, {taken("a", "flux", "argo"), 2}},
			want:  []string{".spec.a flux>argo ×3 0-2"},
		},
		"other paths and owners have their own entries, the newest last": {
			steps: []step{
				{taken("a", "flux", "argo"), 0},
				{taken("b", "flux", "argo"), 1},
				{taken("a", "argo", "helm"), 2},
				{taken("a", "argo", "flux"), 3},
			},
			want: []string{".spec.b flux>argo ×1 1-1", ".spec.a argo>helm ×1 2-2", ".spec.a argo>flux ×2 0-3"},
		},
		"reported in the wrong order": {
			steps: []step{{taken("a", "argo", "flux"), 1}, {taken("a", "flux", "argo"), 0}},
			want:  []string{".spec.a argo>flux ×2 0-1"},
		},
		"reported twice": {
			steps: []step{{taken("a", "flux", "argo"), 0}, {taken("a", "argo", "flux"), 1}, {taken("a", "flux", "argo"), 0}},
			want:  []string{".spec.a argo>flux ×2 0-1"},
		},
		"not notable": {
			steps: []step{{ownership.Transition{Path: fieldpath.Field("a"), Kind: ownership.Shared}, 0}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r ownership.Record
			for _, s := range tt.steps {
				r.Add(s.Transition, minute(s.minute))
			}
			if diff := cmp.Diff(tt.want, lines(r)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// Edge case 81: a record is bounded, and dropped entries are counted.
func TestRecordBounded(t *testing.T) {
	r := ownership.Record{}
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"argo", "flux", "helm", "kubectl"}
	happened, deepest := 0, strings.Repeat("x", 10_000)
	for n := range 20_000 {
		from := names[random.IntN(len(names))]
		to := names[random.IntN(len(names))]
		path := fmt.Sprint("path-", random.IntN(200))
		if n%100 == 0 {
			path = deepest
		}
		if r.Add(taken(path, from, to), minute(n)) {
			happened++
		}
	}
	if len(r.Entries) != 64 {
		t.Errorf("%d entries", len(r.Entries))
	}
	if r.Dropped == 0 || happened != 20_000 {
		t.Errorf("got %d changes and %d dropped, want 20000 changes and some dropped", happened, r.Dropped)
	}
	for i := 1; i < len(r.Entries); i++ {
		if r.Entries[i].Last.Before(&r.Entries[i-1].Last) {
			t.Errorf("entry %d is older than the one before it", i)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 64<<10 {
		t.Errorf("%d bytes", len(text))
	}
}

// Edge case 81: a record is small enough for etcd, no matter how many owners there are and how long
// their names are. The newest entries stay, and dropped entries are not recorded again.
func TestRecordBoundedBytes(t *testing.T) {
	for name, letter := range map[string]string{"plain": "x", "quoted": "\x01", "wide": "ü"} {
		long := func(n int) []managedfields.Owner {
			var out []managedfields.Owner
			for i := range 20 {
				out = append(out, managedfields.Owner{
					Manager: fmt.Sprint(n, "-", i, strings.Repeat(letter, 200)), Operation: "Apply",
					Subresource: strings.Repeat(letter, 300), APIVersion: strings.Repeat(letter, 400),
				})
			}
			return out
		}
		var r ownership.Record
		for range 2 {
			for n := range 100 {
				tr := taken(strings.Repeat(letter, 600)+fmt.Sprint(n), "flux", "argo")
				tr.Before, tr.After = long(n), long(n+1)
				tr.Values = ownership.ValueChange{From: strings.Repeat("x", 256), To: strings.Repeat("y", 256)}
				r.Add(tr, by(strings.Repeat(letter, 300), minute(n)))
			}
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		most := 130 << 10
		if len(r.Entries) == 1 {
			most = 200 << 10 // size of one entry, with each character escaped
		}
		if len(text) > most || len(r.Entries)+r.Dropped != 100 || r.Entries[len(r.Entries)-1].Last.Time != minute(99).Time.Truncate(time.Second) {
			t.Errorf("%s: %d bytes, %d entries, %d dropped", name, len(text), len(r.Entries), r.Dropped)
		}
	}
}

// A table of records shows all owners of the latest change.
func TestRecordSummary(t *testing.T) {
	var r ownership.Record
	tr := taken("a", "flux", "argo")
	tr.Before = append(tr.Before, managedfields.Owner{Manager: "hpa", Operation: "Update", Subresource: "scale"})
	r.Add(tr, minute(1))
	r.Add(taken("b", "x", "y"), minute(0))
	if got, want := r.LastFrom+" > "+r.LastTo, "flux (Apply), hpa (scale) > argo (Apply)"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// If two writers report the same transitions, in any order, the record is the same as if one of
// them had reported them.
func TestRecordTwoWriters(t *testing.T) {
	var one, two ownership.Record
	owners := []string{"flux", "argo"}
	for n := range 100 {
		one.Add(taken("a", owners[n%2], owners[(n+1)%2]), minute(n))
	}
	for n := 0; n < 100; n += 2 {
		for _, m := range []int{n + 1, n, n, n + 1} {
			two.Add(taken("a", owners[m%2], owners[(m+1)%2]), minute(m))
		}
	}
	if diff := cmp.Diff(lines(one), lines(two)); diff != "" {
		t.Errorf("one writer and two (-one +two):\n%s", diff)
	}
}

// Only admission's hints contain values.
func TestRecordHasNoValues(t *testing.T) {
	old := thing(t, "v1", []string{applied("flux", `{f:password: {}}`)}, `{password: old-secret}`)
	now := thing(t, "v1", []string{updated("edit", `{f:password: {}}`)}, `{password: new-secret}`)
	transitions, err := ownershiptest.Transitions(old, now)
	if err != nil {
		t.Fatal(err)
	}
	var r ownership.Record
	for _, tr := range transitions {
		r.Add(tr, ownership.Occasion{ResourceVersion: "2", Time: noon, User: "alice"})
	}
	text, err := json.Marshal(r)
	if err != nil || len(r.Entries) != 1 || r.Entries[0].User != "alice" {
		t.Fatalf("record %s, %v", text, err)
	}
	if strings.Contains(string(text), "secret") {
		t.Errorf("a value is in the record: %s", text)
	}
}

// by returns the same occasion with a user.
func by(user string, at ownership.Occasion) ownership.Occasion {
	at.User = user
	return at
}

// A replica that saw only the watch reports no user, and a replica that admitted the request
// reports the user. In either order, the record has the user.
func TestUserReportedLater(t *testing.T) {
	tests := map[string]struct {
		reports []ownership.Occasion
		want    string
		last    bool // whether the last report changed the record
	}{
		"without a user, then with one":                {reports: []ownership.Occasion{minute(0), by("alice", minute(0))}, want: "alice", last: true},
		"with a user, then without one":                {reports: []ownership.Occasion{by("alice", minute(0)), minute(0)}, want: "alice"},
		"the first user stays":                         {reports: []ownership.Occasion{by("alice", minute(0)), by("bob", minute(0))}, want: "alice"},
		"user of an earlier transition":                {reports: []ownership.Occasion{minute(0), minute(1), by("alice", minute(0))}, want: ""},
		"reported out of order":                        {reports: []ownership.Occasion{minute(1), minute(0), by("bob", minute(1))}, want: "bob", last: true},
		"user of an earlier transition, reported late": {reports: []ownership.Occasion{minute(1), by("alice", minute(0))}, want: "", last: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r ownership.Record
			changed := false
			for _, at := range tt.reports {
				changed = r.Add(taken("a", "flux", "argo"), at)
			}
			if len(r.Entries) != 1 || r.Entries[0].User != tt.want || changed != tt.last {
				t.Errorf("%+v, changed: %v", r.Entries, changed)
			}
		})
	}
}

// Two writers report a long fight, one of them much later. The fight is counted once, because
// transitions older than an entry's memory are known to be counted.
func TestLateReportsAreNotCountedAgain(t *testing.T) {
	var r ownership.Record
	owners := []string{"flux", "argo"}
	for range 2 {
		for n := range 300 {
			r.Add(taken("a", owners[n%2], owners[(n+1)%2]), minute(n))
		}
	}
	if diff := cmp.Diff([]string{".spec.a argo>flux ×300 0-299"}, lines(r)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestRecordDroppedOnce(t *testing.T) {
	var r ownership.Record
	for range 2 {
		for n := range 100 {
			r.Add(taken(fmt.Sprint("p", n), "flux", "argo"), minute(n))
		}
	}
	if len(r.Entries) != 64 || r.Dropped != 36 {
		t.Errorf("%d entries, %d dropped", len(r.Entries), r.Dropped)
	}
}

// Resource versions order the reports of writers, even if their clocks differ or the writes are
// within a second.
func TestRecordOrder(t *testing.T) {
	at := func(version string, second int) ownership.Occasion {
		return ownership.Occasion{ResourceVersion: version, Time: noon.Add(time.Duration(second) * time.Second)}
	}
	var r ownership.Record
	r.Add(taken("a", "argo", "flux"), at("100", 0))
	r.Add(taken("a", "flux", "argo"), at("99", 30))
	r.Add(taken("b", "flux", "argo"), at("98", 60))
	got := fmt.Sprint(r.Entries[0].Path, r.Entries[1].To[0].Manager, r.Entries[1].ResourceVersions)
	if want := ".spec.bflux[99 100]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestRecordBoundsOwners(t *testing.T) {
	tr := taken("a", "flux", "argo")
	for n := range 1000 {
		tr.Before = append(tr.Before, managedfields.Owner{Manager: fmt.Sprint("m", n), Operation: "Apply"})
	}
	var r ownership.Record
	r.Add(tr, by(strings.Repeat("ü", 1000), minute(0)))
	if e := r.Entries[0]; len(e.From) != 16 || !e.Cut || len([]rune(e.User)) > 257 {
		t.Errorf("%d owners, cut: %v, user %q", len(e.From), e.Cut, e.User)
	}
	if got, err := r.Net(ownership.Owners{}); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v for an entry with omitted owners, want no comparison", got, err)
	}
}

// The API server accepts subresources of 256 bytes in managed fields, and RBAC objects with names
// of any length. The record must stay within the limits of its CRD, because the API server would
// otherwise refuse all of it.
func TestRecordBoundsNames(t *testing.T) {
	tr := taken("a", "flux", "argo")
	tr.After[0].Subresource = strings.Repeat("s", 256)
	r := ownership.NewRecord(ownership.Object{Kind: "ClusterRole", Name: strings.Repeat("x", 1000), UID: "u"}, "system")
	r.Add(tr, minute(0))
	if e := r.Entries[0]; len(e.To[0].Subresource) > 253 || !e.Cut {
		t.Errorf("%d bytes of a subresource, cut: %v", len(e.To[0].Subresource), e.Cut)
	}
	if len(r.Object.Name) > 253 || len(r.OwnerReferences[0].Name) != 1000 {
		t.Errorf("the record's object has a name of %d bytes, its owner reference one of %d", len(r.Object.Name), len(r.OwnerReferences[0].Name))
	}
	r.Add(taken("b", "flux", strings.Repeat("m", 128)), minute(1))
	if e := r.Entries[1]; e.Cut {
		t.Errorf("an owner of usual length is cut: %v", e.To)
	}
}

func TestNet(t *testing.T) {
	held := func(manager, fields string) string { return applied(manager, fields) }
	tests := map[string]struct {
		live []string
		want []string
	}{
		"nothing":            {live: []string{held("argo", `{f:a: {}}`), held("flux", `{f:other: {}}`)}},
		"lost":               {live: []string{held("helm", `{f:a: {}}`)}, want: []string{".spec.a lost by argo (Apply) to helm (Apply)"}},
		"shared":             {live: []string{held("argo", `{f:a: {}}`), held("helm", `{f:a: {}}`)}, want: []string{".spec.a shared by helm (Apply)"}},
		"gone":               {live: []string{held("helm", `{f:other: {}}`)}, want: []string{".spec.a removed by argo (Apply)"}},
		"at another version": {live: []string{at("v2", "argo", "Apply", `{f:a: {}}`)}, want: []string{".spec.a from argo (Apply) to argo (Apply), unclear: cross-version"}},
		"all cleared":        {want: []string{".spec.a from argo (Apply) to no owner, unclear: reset"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r ownership.Record
			r.Add(taken("a", "argo", "helm"), minute(0)) // as it was, not as it is
			r.Add(taken("a", "flux", "argo"), minute(1))
			live := ownership.Compact(thing(t, "v1", tt.live, `{}`).GetManagedFields())
			got, err := r.Net(live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
				t.Errorf("net (-want +got):\n%s", diff)
			}
			// Recording the same transition again changes nothing.
			for _, tr := range got {
				r.Add(tr, ownership.Occasion{ResourceVersion: "9999", Time: noon.Add(time.Hour), Gap: true})
			}
			again, err := r.Net(live)
			if err != nil {
				t.Fatal(err)
			}
			for _, tr := range again {
				if tr.Notable() {
					t.Errorf("%s, again", tr)
				}
			}
		})
	}
}

// A tool that switched to server-side apply after the record was written took nothing from itself.
// Records do not contain moves, so the record still names the updater.
func TestNetAfterMigration(t *testing.T) {
	updater := func(manager string) managedfields.Owner {
		return managedfields.Owner{Manager: manager, Operation: "Update", APIVersion: "v1"}
	}
	tests := map[string]struct {
		last managedfields.Owner
		live []string
		want []string
	}{
		"same manager name":                     {last: updater("argo"), live: []string{applied("argo", `{f:a: {}}`)}, want: []string{".spec.a from argo (Update) to argo (Apply), unclear: migration"}},
		"kubectl":                               {last: updater("kubectl-client-side-apply"), live: []string{applied("kubectl", `{f:a: {}, f:b: {}}`)}, want: []string{".spec.a from kubectl-client-side-apply (Update) to kubectl (Apply), unclear: migration"}},
		"applied together with another manager": {last: updater("argo"), live: []string{applied("argo", `{f:a: {}}`), applied("flux", `{f:a: {}}`)}, want: []string{".spec.a from argo (Update) to argo (Apply), flux (Apply), unclear: migration"}},
		"the updater is there":                  {last: updater("argo"), live: []string{applied("argo", `{f:a: {}}`), at("v1", "argo", "Update", `{f:b: {}}`)}, want: []string{".spec.a lost by argo (Update) to argo (Apply)"}},
		"another tool":                          {last: updater("argo"), live: []string{applied("flux", `{f:a: {}}`), applied("argo", `{f:b: {}}`)}, want: []string{".spec.a lost by argo (Update) to flux (Apply)"}},
		"by way of scale":                       {last: managedfields.Owner{Manager: "argo", Operation: "Update", Subresource: "scale", APIVersion: "v1"}, live: []string{applied("argo", `{f:a: {}}`)}, want: []string{".spec.a lost by argo (scale) to argo (Apply)"}},
		"back from server-side":                 {last: managedfields.Owner{Manager: "argo", Operation: "Apply", APIVersion: "v1"}, live: []string{at("v1", "argo", "Update", `{f:a: {}}`)}, want: []string{".spec.a lost by argo (Apply) to argo (Update)"}},
		"to another API version":                {last: updater("argo"), live: []string{at("v2", "argo", "Apply", `{f:a: {}}`)}, want: []string{".spec.a from argo (Update) to argo (Apply), unclear: cross-version"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := taken("a", "flux", "argo")
			tr.After = []managedfields.Owner{tt.last}
			var r ownership.Record
			r.Add(tr, minute(0))
			got, err := r.Net(ownership.Compact(thing(t, "v1", tt.live, `{}`).GetManagedFields()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
				t.Errorf("net (-want +got):\n%s", diff)
			}
		})
	}
}

// The count of an entry with a gap stays marked as incomplete.
func TestEntryKeepsGap(t *testing.T) {
	var r ownership.Record
	gap := minute(1)
	gap.Gap = true
	r.Add(taken("a", "argo", "flux"), gap)
	r.Add(taken("a", "flux", "argo"), minute(2))
	if len(r.Entries) != 1 || !r.Entries[0].Gap || r.Entries[0].Count != 2 {
		t.Errorf("entries %+v", r.Entries)
	}
}

// An entry is formatted like its transition.
func TestEntryString(t *testing.T) {
	for _, tr := range []ownership.Transition{
		taken("a", "flux", "argo"),
		{Path: taken("a", "flux", "argo").Path, Kind: ownership.Lost, Before: taken("a", "flux", "argo").Before, After: taken("a", "flux", "argo").After},
		{
			Path: fieldpath.Field("spec", "a"), Kind: ownership.Released,
			Before: []managedfields.Owner{{Manager: "flux", Operation: "Apply"}, {Manager: "hpa", Operation: "Update", Subresource: "scale"}},
			After:  []managedfields.Owner{{Manager: "flux", Operation: "Apply"}},
		},
	} {
		var r ownership.Record
		r.Add(tr, minute(0))
		if got, want := r.Entries[0].String(), tr.String(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
