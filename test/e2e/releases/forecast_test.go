package releases_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// Releases of random charts are installed by Helm, server-side and client-side. Eight managers write
// at random in between. Then each upgrade, with the same and with changed values, ends as forecast:
// it succeeds, or fails at exactly the listed paths. After the proposed command, it succeeds.
func TestForecastsAreRight(t *testing.T) {
	s := newSite(t, "forecast")
	s.apply(t, gvr("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "setup", gearDefinition)
	s.eventually(t, "gears are served", func() bool {
		_, err := s.of(gvr("forecast.example.com", "v1", "gears")).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	seeds, rounds := circle.Of(2, 10, 50), circle.Of(6, 50, 50)
	first := 1
	if seed := os.Getenv("RELEASES_SEED"); seed != "" { // One seed, or a range such as 101-110.
		from, to, isRange := strings.Cut(seed, "-")
		if !isRange {
			to = from
		}
		n, err := strconv.Atoi(from)
		last, lastErr := strconv.Atoi(to)
		if err := errors.Join(err, lastErr); err != nil {
			t.Fatal(err)
		}
		first, seeds = n, last-n+1
	}
	var total sum
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+seeds; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				site := newSite(t, fmt.Sprintf("forecast-%d", seed))
				var n counts
				site.story(t, rand.New(rand.NewPCG(uint64(seed), 51)), rounds, seed%2 == 0, &n)
				t.Logf("%+v", n)
				total.add(n)
			})
		}
	})
	t.Logf("%+v", total.counts)
	if total.ready == 0 || total.failing == 0 || total.settled == 0 || total.refusedServerSide == 0 || total.values == 0 || circle.Of(false, true, true) && (total.removed == 0 || total.unscaled == 0) {
		t.Errorf("too few cases of some kind: %+v", total.counts)
	}
}

type counts struct {
	forecasts, ready, failing, refused, settled, overwritten, values, removed, unscaled, refusedServerSide, gone, foreign int
}

type sum struct {
	sync.Mutex
	counts
}

func (s *sum) add(n counts) {
	s.Lock()
	defer s.Unlock()
	s.forecasts += n.forecasts
	s.ready += n.ready
	s.failing += n.failing
	s.refused += n.refused
	s.settled += n.settled
	s.overwritten += n.overwritten
	s.values += n.values
	s.removed += n.removed
	s.unscaled += n.unscaled
	s.refusedServerSide += n.refusedServerSide
	s.gone += n.gone
	s.foreign += n.foreign
}

// story upgrades one release again and again.
func (s *site) story(t *testing.T, r *rand.Rand, rounds int, client bool, total *counts) {
	of := some(r, kinds(), 3+r.IntN(4))
	chart := folder(t, template(r, of))
	s.helm.Run(t, "install", "web", chart, "-n", s.namespace, "--server-side="+strconv.FormatBool(!client))
	for range rounds {
		if t.Failed() {
			return
		}
		for range r.IntN(9) {
			s.write(t, r, of[r.IntN(len(of))])
		}
		args := []string{"web"}
		before, beforeOf := chart, of
		var joined *kindOf
		if r.IntN(2) == 0 { // A changed chart.
			of, joined = s.change(t, r, of)
			chart = folder(t, template(r, of))
			output := filepath.Join(t.TempDir(), "next.yaml")
			if err := os.WriteFile(output, []byte(s.helm.Run(t, "template", "web", chart, "-n", s.namespace)), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--chart-output="+output)
		}
		refused := s.round(t, r, args, &chart, total)
		if client && !t.Failed() && !refused { // A server-side upgrade made the release server-side.
			s.helm.Run(t, "upgrade", "web", chart, "-n", s.namespace, "--server-side=false")
		}
		if refused {
			// Helm refused to import an object, and stored no revision.
			chart, of = before, beforeOf
			if joined != nil {
				_ = s.of(joined.gvr).Delete(t.Context(), "web", metav1.DeleteOptions{})
			}
		}
	}
}

// change adds a kind to the chart or removes one, sometimes. The added object may already exist.
func (s *site) change(t *testing.T, r *rand.Rand, of []kindOf) (now []kindOf, exists *kindOf) {
	switch r.IntN(6) {
	case 0:
		if len(of) > 2 {
			at := r.IntN(len(of))
			return slices.Delete(slices.Clone(of), at, at+1), nil
		}
	case 1:
		for _, kind := range some(r, kinds(), len(kinds())) {
			if slices.ContainsFunc(of, func(k kindOf) bool { return k.name == kind.name }) {
				continue
			}
			if r.IntN(2) == 0 {
				s.apply(t, kind.gvr, "kubectl-create", fill(r, kind.template))
				exists = &kind
			}
			return append(slices.Clone(of), kind), exists
		}
	}
	return of, nil
}

// round compares one forecast with an upgrade. It reports whether Helm refused to import an object. If the replicas
// must leave the chart, chart becomes the one without them.
func (s *site) round(t *testing.T, r *rand.Rand, args []string, chart *string, total *counts) (refused bool) {
	status, all, text := s.forecasts(t, args...)
	if len(all) != 1 {
		t.Fatalf("%d releases: %s", len(all), text)
	}
	f := all[0]
	total.forecasts++
	total.gone += len(f.Gone)
	total.foreign += len(f.Foreign)
	upgrade := []string{"upgrade", "web", *chart, "-n", s.namespace}
	want := flat(f.Conflicts)
	fails := f.Forecast == "fails"
	if !f.ServerSide && r.IntN(2) == 0 { // Ask for a server-side upgrade.
		upgrade = append(upgrade, "--server-side=true")
		fails = len(want)+len(f.Refusals)+len(f.RefusalsServerSide) > 0
		if fails {
			total.refusedServerSide++
		}
	}
	if wantStatus := map[string]int{"ready": 0, "fails": 1}[f.Forecast]; status != wantStatus {
		t.Errorf("exit status %d, forecast %s", status, f.Forecast)
	}
	client := !f.ServerSide && !slices.Contains(upgrade, "--server-side=true")
	before := s.live(t)
	_, err := s.helm.Try(t.Context(), upgrade...)
	switch {
	case f.Forecast != "ready" && f.Forecast != "fails", fails != (err != nil):
		t.Errorf("%s\nhelm %s: %v", text, strings.Join(upgrade, " "), err)
		return false
	case !fails:
		total.ready++
		if client {
			s.overwritten(t, f, total)
		}
		s.written(t, f, before, total)
		s.removed(t, f, client, before, total)
		return false
	case len(f.Refusals) > 0 || f.Refused != nil:
		total.refused++
		if !strings.Contains(err.Error(), "cannot be imported into the current release") {
			t.Errorf("%s\n%v", text, err)
		}
		return true
	}
	total.failing++
	if diff := cmp.Diff(want, conflictsIn(err.Error())); diff != "" {
		t.Errorf("(-forecast +helm):\n%s\n%s\n%v", diff, text, err)
		return false
	}
	if len(f.Next) == 0 {
		t.Fatal("no command is proposed")
	}
	if conditional := s.follow(t, f, text); conditional && !t.Failed() { // The rest depends on the answer.
		_, all, text := s.forecasts(t, args...)
		s.follow(t, all[0], text)
	}
	if len(f.Autoscaled) > 0 {
		*chart = unscaled(t, *chart)
		upgrade[2] = *chart
		total.unscaled++
	}
	if _, err := s.helm.Try(t.Context(), upgrade...); err != nil {
		t.Errorf("after %q: %v\n%s", f.Next, err, text)
		return false
	}
	after := s.live(t)
	for _, o := range f.Autoscaled {
		want, _ := at(before[o.Kind+" "+o.Name].Object, ".spec.replicas")
		if got, _ := at(after[o.Kind+" "+o.Name].Object, ".spec.replicas"); asJSON(got) != asJSON(want) {
			t.Errorf("after %q: %s replicas of %s, want the autoscaler's %s", f.Next, asJSON(got), o.Name, asJSON(want))
		}
	}
	total.settled++
	return false
}

// unscaled copies a chart without the replicas, as a forecast proposes if an autoscaler sets them.
func unscaled(t *testing.T, chart string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "templates", "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return folder(t, regexp.MustCompile(`(?m)^  replicas: \d+$`).ReplaceAllString(string(text), ""))
}

// follow runs the commands of a forecast. It reports whether one has a condition.
func (s *site) follow(t *testing.T, f forecast, text string) (conditional bool) {
	t.Helper()
	conditional = slices.ContainsFunc(f.Next, func(next string) bool { return strings.HasPrefix(next, "if ") })
	for _, next := range f.Next {
		if strings.HasPrefix(next, "remove .spec.replicas of deployment.apps/") && len(f.Autoscaled) > 0 {
			continue // The caller does it.
		}
		condition, words, is := strings.Cut(next, "kubectl k8sconnect ")
		if !is || condition != "" && !strings.HasSuffix(condition, " will not be installed: ") {
			t.Errorf("the proposal is no command: %s\n%s", next, text)
			return conditional
		}
		if status, out, message := s.plugin(t, strings.Fields(strings.ReplaceAll(words, "'", ""))...); status != 0 && !conditional && (status != 1 || len(f.Autoscaled) == 0) {
			t.Errorf("%s: exit status %d: %s%s", words, status, out, message)
		}
	}
	return conditional
}

// overwritten checks that a client-side upgrade has set the fields that it was forecast to overwrite.
func (s *site) overwritten(t *testing.T, f forecast, total *counts) {
	t.Helper()
	for _, o := range f.Overwrites {
		live, err := s.of(s.kinds[o.Kind]).Get(t.Context(), o.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range o.Paths {
			total.overwritten++
			for _, e := range live.GetManagedFields() {
				if e.Manager != "helm" && e.Operation == metav1.ManagedFieldsOperationUpdate && owns(e.FieldsV1.GetRawString(), p.Path) {
					t.Errorf("%s: %s still belongs to %s:\n%s", o.Kind, p.Path, e.Manager, e.FieldsV1.GetRawString())
				}
			}
		}
	}
}

// owns reports whether managed fields contain a path of names.
func owns(fields, path string) bool {
	if strings.ContainsAny(path, "[") {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		_, rest, found := strings.Cut(fields, `"f:`+name+`"`)
		if !found {
			return false
		}
		fields = rest
	}
	return true
}

func flat(all []paths) []string {
	var out []string
	for _, o := range all {
		for _, p := range o.Paths {
			out = append(out, o.Kind+" "+normal(p.Path))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// conflictsIn returns the conflicts in Helm's error, as "KIND PATH".
func conflictsIn(message string) []string {
	var out []string
	_, message, _ = strings.Cut(message, "\nError: ") // Helm prints the conflicts twice, first quoted.
	object := regexp.MustCompile(`conflict occurred while applying object \S+ \S+, Kind=(\w+): Apply failed with`)
	path := regexp.MustCompile(`(?m)(?::|^-) (\.\S+)`)
	starts := object.FindAllStringSubmatchIndex(message, -1)
	for i, at := range starts {
		end := len(message)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		for _, found := range path.FindAllStringSubmatch(message[at[1]:end], -1) {
			// The server stores stringData as data, and the forecast names that.
			out = append(out, message[at[2]:at[3]]+" "+strings.Replace(normal(found[1]), ".stringData.", ".data.", 1))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *site) eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		if t.Context().Err() != nil {
			t.Fatalf("never: %s", what)
		}
	}
}
