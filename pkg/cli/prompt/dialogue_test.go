package prompt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// user simulates a user: it provides the typed lines and records the output.
type user struct {
	lines  []string
	screen strings.Builder
	asked  int
}

func (u *user) dialogue() *Dialogue {
	return &Dialogue{
		Now: func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) },
		Say: func(lines ...string) { u.screen.WriteString(strings.Join(lines, "\n") + "\n") },
		Read: func(prompt string) (string, bool) {
			u.asked++
			u.screen.WriteString(prompt + "\n")
			if len(u.lines) == 0 {
				return "", false
			}
			line := u.lines[0]
			u.lines = u.lines[1:]
			return line, true
		},
	}
}

func ref(name string) object.Ref {
	return object.Ref{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: name}
}

func conflict(t *testing.T, path string, live any, managers ...string) managedfields.Conflict {
	t.Helper()
	p, err := fieldpath.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	c := managedfields.Conflict{Path: p, Yours: "yours", Live: live, HasLive: true}
	for _, m := range managers {
		c.Owners = append(c.Owners, managedfields.Owner{
			Manager: m, Operation: managedfields.Update, Time: time.Date(2026, 5, 1, 11, 0, 0, 0, time.UTC),
		})
	}
	return c
}

// contested returns two objects with four conflicts: three with the manager edit alone, and one
// with two managers.
func contested(t *testing.T) []apply.Contested {
	t.Helper()
	return []apply.Contested{
		{Ref: ref("web"), Conflicts: []managedfields.Conflict{
			conflict(t, ".spec.replicas", int64(5), "edit"),
			conflict(t, `.metadata.annotations["a,b"]`, "theirs", "edit", "other"),
		}},
		{Ref: ref("api"), Conflicts: []managedfields.Conflict{
			conflict(t, ".spec.replicas", int64(7), "edit"),
			conflict(t, ".spec.paused", true, "edit"),
		}},
	}
}

const (
	undecided = apply.Undecided
	take      = apply.Take
	leave     = apply.Leave
)

func TestDialogue(t *testing.T) {
	for name, tt := range map[string]struct {
		typed []string
		want  [][]apply.Decision
		flags []string
		// asked is the number of prompts; 0 means one for each typed line.
		asked int
	}{
		"one by one": {
			typed: []string{"t", "l", "leave", "take"},
			want:  [][]apply.Decision{{take, leave}, {leave, take}},
			flags: []string{
				"--take=deployment.apps/web:.spec.replicas", "--take=deployment.apps/api:.spec.paused",
				`--yield=deployment.apps/web:.metadata.annotations["a,b"]`, "--yield=deployment.apps/api:.spec.replicas",
			},
		},
		"all of a manager, except what it shares with another": {
			typed: []string{"take all", "l"},
			want:  [][]apply.Decision{{take, leave}, {take, take}},
			flags: []string{
				"--take=deployment.apps/web:.spec.replicas", "--take=deployment.apps/api:.spec.replicas,.spec.paused",
				`--yield=deployment.apps/web:.metadata.annotations["a,b"]`,
			},
		},
		"leave all after single answers": {
			typed: []string{"t", "t", "la"},
			want:  [][]apply.Decision{{take, take}, {leave, leave}},
			flags: []string{
				`--take=deployment.apps/web:.spec.replicas,.metadata.annotations["a,b"]`, "--yield=deployment.apps/api:.spec.replicas,.spec.paused",
			},
		},
		"quit": {
			typed: []string{"t", "q"},
			want:  [][]apply.Decision{{take, undecided}, {undecided, undecided}},
			flags: []string{"--take=deployment.apps/web:.spec.replicas"},
		},
		"end of input": {asked: 1, want: [][]apply.Decision{{undecided, undecided}, {undecided, undecided}}},
		"invalid answers decide nothing": {
			typed: []string{"", "x", "yes", "all", "T", "takeall", "?", "show", "q"},
			want:  [][]apply.Decision{{undecided, undecided}, {undecided, undecided}},
		},
		"leave all of several managers": {
			typed: []string{"t", "la"},
			want:  [][]apply.Decision{{take, leave}, {leave, leave}},
			flags: []string{
				"--take=deployment.apps/web:.spec.replicas",
				`--yield=deployment.apps/web:.metadata.annotations["a,b"]`, "--yield=deployment.apps/api:.spec.replicas,.spec.paused",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := &user{lines: tt.typed}
			d := u.dialogue()
			if diff := cmp.Diff(tt.want, d.Decide(contested(t))); diff != "" {
				t.Error(diff)
			}
			if want := max(tt.asked, len(tt.typed)); u.asked != want {
				t.Errorf("asked %d times, want %d", u.asked, want)
			}
			if diff := cmp.Diff(tt.flags, d.Flags(object.Ref.Resource)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The printed flags, when parsed, select exactly the objects and paths that the user answered.
func TestFlagsMatchAnswers(t *testing.T) {
	u := &user{lines: []string{"t", "l", "l", "t"}}
	d := u.dialogue()
	d.Decide(contested(t))
	got := map[string]bool{}
	for _, flag := range d.Flags(object.Ref.Resource) {
		name, value, _ := strings.Cut(flag, "=")
		choices, err := predict.ParseChoices(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range choices {
			for _, o := range contested(t) {
				if !c.Names(o.Ref, object.Kind{GVK: o.Ref.GVK}) {
					continue
				}
				for _, conflict := range o.Conflicts {
					if c.Path.Covers(conflict.Path) {
						got[fmt.Sprint(name, " ", o.Ref.Name, conflict.Path)] = true
					}
				}
			}
		}
	}
	want := map[string]bool{
		"--take web.spec.replicas": true, `--yield web.metadata.annotations["a,b"]`: true,
		"--yield api.spec.replicas": true, "--take api.spec.paused": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// If an object changed after the answer, the question is asked again, and the prompt says why. The
// last answer counts.
func TestPromptAsksAgainAboutChangedObject(t *testing.T) {
	u := &user{lines: []string{"t", "l"}}
	d := u.dialogue()
	one := []apply.Contested{{Ref: ref("web"), Conflicts: []managedfields.Conflict{conflict(t, ".spec.replicas", int64(5), "edit")}}}
	d.Decide(one)
	if strings.Contains(u.screen.String(), "changed") {
		t.Errorf("the first question mentions a change:\n%s", &u.screen)
	}
	one[0].Conflicts[0].Live = int64(6)
	d.Decide(one)
	if !strings.Contains(u.screen.String(), "which has changed since your answer") {
		t.Errorf("the second question does not mention the change:\n%s", &u.screen)
	}
	if diff := cmp.Diff([]string{"--yield=deployment.apps/web:.spec.replicas"}, d.Flags(object.Ref.Resource)); diff != "" {
		t.Error(diff)
	}
}

// After the user has quit, no questions are asked in later phases. Answers for all fields of a
// manager still apply.
func TestLaterPhases(t *testing.T) {
	u := &user{lines: []string{"la", "q"}}
	d := u.dialogue()
	all := contested(t)
	d.Decide(all[:1])
	if got := d.Decide(all[1:]); !slices.Equal(got[0], []apply.Decision{undecided, undecided}) || u.asked != 2 {
		t.Errorf("after quitting: %v, asked %d times", got, u.asked)
	}
	u = &user{lines: []string{"la", "t"}}
	d = u.dialogue()
	d.Decide(all[:1])
	if got := d.Decide(all[1:]); !slices.Equal(got[0], []apply.Decision{leave, leave}) || u.asked != 2 {
		t.Errorf("after leave all: %v, asked %d times", got, u.asked)
	}
}

// A path with several managers is decided without a question if the user gave the same answer for
// each manager.
func TestSharedByManagers(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second string
		// asked is the number of prompts. want is the decision about the shared path.
		asked int
		want  apply.Decision
	}{
		"taken from both":                             {"ta", "ta", 2, take},
		"left to both":                                {"la", "la", 2, leave},
		"taken from one, left to the other":           {"ta", "la", 3, undecided},
		"taken from one, single answer for the other": {"ta", "t", 3, undecided},
	} {
		t.Run(name, func(t *testing.T) {
			u := &user{lines: []string{tt.first, tt.second, "q"}}
			got := u.dialogue().Decide([]apply.Contested{{Ref: ref("web"), Conflicts: []managedfields.Conflict{
				conflict(t, ".spec.replicas", int64(5), "edit"), conflict(t, ".spec.paused", true, "other"),
				conflict(t, ".spec.minReadySeconds", int64(1), "edit", "other"),
			}}})
			if got[0][2] != tt.want || u.asked != tt.asked {
				t.Errorf("%v, asked %d times\n%s", got, u.asked, &u.screen)
			}
		})
	}
	u := &user{lines: []string{"?", "ta"}}
	u.dialogue().Decide([]apply.Contested{{Ref: ref("web"), Conflicts: []managedfields.Conflict{
		conflict(t, ".spec.replicas", int64(5), "flux", "argo", "flux"), conflict(t, ".spec.paused", true, "argo"),
	}}})
	for _, want := range []string{"of flux and argo: [ta] take all", "every other contested path that flux and argo own together"} {
		if !strings.Contains(u.screen.String(), want) {
			t.Errorf("no %q in\n%s", want, &u.screen)
		}
	}
}

// A path that the server would refuse cannot be taken, not even by an answer for all fields of its
// manager.
func TestRefusedPathsCannotBeTaken(t *testing.T) {
	u := &user{lines: []string{"t", "ta", "l", "ta", "l"}}
	refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", field.ErrorList{field.Forbidden(field.NewPath("spec", "replicas"), "no")})
	all := contested(t)
	all[0].Refusal = refusal
	all[0].Conflicts = all[0].Conflicts[:1]
	all[1].Refusal = refusal
	slices.Reverse(all[1].Conflicts) // paused first, for which take all is answered
	want := [][]apply.Decision{{leave}, {take, leave}}
	if diff := cmp.Diff(want, u.dialogue().Decide(all)); diff != "" {
		t.Errorf("%s\n%s", diff, &u.screen)
	}
	if !strings.Contains(u.screen.String(), "the server would refuse your value") {
		t.Errorf("not said:\n%s", &u.screen)
	}
}

// If no yield rule can name a path, the prompt does not offer to leave it, or all fields of its
// manager. If the path cannot be taken either, only show and quit are offered.
func TestUnleavablePathsCannotBeLeft(t *testing.T) {
	all := contested(t)
	replicas, paused := all[1].Conflicts[0], all[1].Conflicts[1]
	u := &user{lines: []string{"la", "l", "la", "?", "s", "t"}}
	one := []apply.Contested{
		{Ref: ref("web"), Conflicts: []managedfields.Conflict{replicas}},
		{Ref: ref("api"), Conflicts: []managedfields.Conflict{paused}, Unleavable: []fieldpath.Path{paused.Path}},
	}
	if diff := cmp.Diff([][]apply.Decision{{leave}, {take}}, u.dialogue().Decide(one)); diff != "" {
		t.Errorf("%s\n%s", diff, &u.screen)
	}
	_, second, _ := strings.Cut(u.screen.String(), "conflict 2 of 2")
	if !strings.Contains(second, "[t]ake, [s]how, [q]uit (a path at another API version cannot be left to its owner;") || strings.Contains(second, "leave") {
		t.Errorf("unexpected second question:\n%s", second)
	}
	u = &user{lines: []string{"t", "l", "ta", "la", "q"}}
	one[1].Refusal = apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "api", field.ErrorList{field.Forbidden(field.NewPath("spec", "paused"), "no")})
	if diff := cmp.Diff([][]apply.Decision{{undecided}}, u.dialogue().Decide(one[1:])); diff != "" || u.asked != 5 {
		t.Errorf("%s, asked %d times\n%s", diff, u.asked, &u.screen)
	}
}

// A question fits the terminal, except for paths, which users copy. The answer show prints
// everything in full.
func TestShowPrintsEverythingInFull(t *testing.T) {
	long := strings.Repeat("long ", 60) + "\nsecond line \x1b[2J"
	c := conflict(t, ".data.text", long, "edit")
	c.Yours = map[string]any{"list": []any{"a", int64(1)}}
	u := &user{lines: []string{"q"}}
	d := u.dialogue()
	d.Width = func() int { return 60 }
	d.Decide([]apply.Contested{{Ref: ref("web"), Conflicts: []managedfields.Conflict{c}}})
	for line := range strings.SplitSeq(u.screen.String(), "\n") {
		if len([]rune(line)) > 60 {
			t.Errorf("too wide: %q", line)
		}
	}
	u = &user{lines: []string{"s", "q"}}
	d = u.dialogue()
	d.Width = func() int { return 60 }
	d.Decide([]apply.Contested{{Ref: ref("web"), Conflicts: []managedfields.Conflict{c}}})
	for _, want := range []string{strings.TrimSpace(strings.Repeat("long ", 60)), "second line", "- a", "edit (Update, 1h ago), since 2026-05-01T11:00:00Z"} {
		if !strings.Contains(strings.Join(strings.Fields(u.screen.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, &u.screen)
		}
	}
	if strings.Contains(u.screen.String(), "\x1b") {
		t.Error("a value reached the terminal with an escape sequence")
	}
}

// On a narrow terminal, questions, prompts and help are broken between words: never within a name, an option,
// or a flag. Only the path is not broken, because users copy it.
func TestNarrowQuestions(t *testing.T) {
	const managers = "kubectl-client-side-apply and terraform"
	all := []apply.Contested{{Ref: ref("web"), Conflicts: []managedfields.Conflict{
		conflict(t, ".spec.replicas", int64(5), "kubectl-client-side-apply", "terraform"),
		conflict(t, ".spec.paused", true, "terraform"),
	}}}
	for _, width := range []int{30, 40, 60} {
		u := &user{lines: []string{"?", "s", "q"}}
		d := u.dialogue()
		d.Phases = 2
		d.Width = func() int { return width }
		d.Places = func(object.Ref) Places {
			return Places{File: "k8sconnect.yaml", IsNew: true, Manifest: "shop/web.yaml:1"}
		}
		d.Decide(all)
		for line := range strings.SplitSeq(u.screen.String(), "\n") {
			if n := len([]rune(strings.TrimRight(line, " "))); n > width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%d columns: %d in %q", width, n, line)
			}
		}
		for _, whole := range []string{
			"[ta] take all", "[la] leave all", "[al]ways leave", "kubectl-client-side-apply", "deployment.apps/web -n shop",
		} {
			if !strings.Contains(u.screen.String(), whole) {
				t.Errorf("%d columns: %q is broken in\n%s", width, whole, &u.screen)
			}
		}
		oneLine := strings.Join(strings.Fields(u.screen.String()), " ")
		if !strings.Contains(oneLine, "for all fields of "+managers+": [ta] take all, [la] leave all: ") {
			t.Errorf("%d columns: the prompt has lost words:\n%s", width, &u.screen)
		}
	}
}

func TestIsInCI(t *testing.T) {
	for value, want := range map[string]bool{"": false, "false": false, "0": false, "true": true, "1": true, "TRUE": true, "woodpecker": true} {
		if got := isInCI(func(name string) string { return map[string]string{"CI": value}[name] }); got != want {
			t.Errorf("CI=%s: %v", value, got)
		}
	}
}

// If the refusal of an object names no path, its paths can be taken.
func TestRefusalWithoutPath(t *testing.T) {
	all := contested(t)[:1]
	all[0].Refusal = errors.New("the server is tired")
	u := &user{lines: []string{"t", "t"}}
	if got := u.dialogue().Decide(all); !slices.Equal(got[0], []apply.Decision{take, take}) {
		t.Errorf("got %v", got)
	}
}

// The number of conflicts is that of one phase; if later phases may have more, the prompt says so.
func TestDialogueCounts(t *testing.T) {
	for phases, want := range map[int]string{
		1: "conflict 1 of 4: deployment.apps/web -n shop\n",
		2: "conflict 1 of 4 in this phase: deployment.apps/web -n shop\n",
	} {
		u := &user{}
		d := u.dialogue()
		d.Phases = phases
		d.Decide(contested(t))
		if !strings.Contains(u.screen.String(), want) {
			t.Errorf("%d phases: no %q:\n%s", phases, want, u.screen.String())
		}
	}
}

// The answer always leaves the path, and keeps a rule where the user wants it. A later answer, or
// quitting, takes that back. A rule that was written needs no flag, and one that could not be written
// does.
func TestAlways(t *testing.T) {
	both := Places{File: "k8sconnect.yaml", Manifest: "web.yaml:1", IsNew: true}
	web, api := ref("web"), ref("api")
	for name, tt := range map[string]struct {
		places Places
		typed  []string
		want   []Rule
		flags  []string
	}{
		"in the file, one rule for each object": {
			both,
			[]string{"al", "always", "al", "t"},
			[]Rule{{web, []string{".spec.replicas", `.metadata.annotations["a,b"]`}, false}, {api, []string{".spec.replicas"}, false}},
			[]string{"--take=deployment.apps/api:.spec.paused"},
		},
		"in the manifest": {
			both,
			[]string{"am", "t", "l", "always manifest"},
			[]Rule{{web, []string{".spec.replicas"}, true}, {api, []string{".spec.paused"}, true}},
			[]string{`--take=deployment.apps/web:.metadata.annotations["a,b"]`, "--yield=deployment.apps/api:.spec.replicas"},
		},
		"in the manifest, without a file": {
			Places{Manifest: "web.yaml:1"},
			[]string{"al", "t", "t", "t"},
			[]Rule{{web, []string{".spec.replicas"}, true}},
			[]string{`--take=deployment.apps/web:.metadata.annotations["a,b"]`, "--take=deployment.apps/api:.spec.replicas,.spec.paused"},
		},
		"nowhere": {Places{Reason: "the input is a URL"}, []string{"al", "am", "q"}, nil, nil},
		"quit":    {both, []string{"al", "q"}, nil, []string{"--yield=deployment.apps/web:.spec.replicas"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := &user{lines: tt.typed}
			d := u.dialogue()
			d.Places = func(object.Ref) Places { return tt.places }
			d.Decide(contested(t))
			var got []Rule
			d.Keep(func(r Rule) bool { got = append(got, r); return true })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%s", diff, &u.screen)
			}
			if diff := cmp.Diff(tt.flags, d.Flags(object.Ref.Resource)); diff != "" {
				t.Error(diff)
			}
			if offered := strings.Contains(u.screen.String(), "[al]ways"); offered == (tt.places.Reason != "") {
				t.Errorf("always is offered: %v\n%s", offered, &u.screen)
			}
		})
	}
	u := &user{lines: []string{"al", "t", "t", "t"}}
	d := u.dialogue()
	d.Places = func(object.Ref) Places { return both }
	d.Decide(contested(t))
	asked := 0
	d.Keep(func(Rule) bool { asked++; return false })
	d.Keep(func(Rule) bool { asked++; return false })
	if got := d.Flags(object.Ref.Resource); asked != 1 || !slices.Contains(got, "--yield=deployment.apps/web:.spec.replicas") {
		t.Errorf("a rule that was not written needs a flag: %v, asked %d times", got, asked)
	}
}

// The help names the places, and says why there is none.
func TestAlwaysHelp(t *testing.T) {
	for _, tt := range []struct {
		places Places
		want   []string
	}{
		{Places{File: "shop/k8sconnect.yaml", IsNew: true, Manifest: "shop/web.yaml:7"}, []string{"al, always    leave it now and later: adds a rule to shop/k8sconnect.yaml (new)\n", "am            the same, with an annotation in shop/web.yaml:7\n"}},
		{Places{Manifest: "shop/web.yaml:7"}, []string{"al, always    leave it now and later: adds an annotation to shop/web.yaml:7\n"}},
		{Places{Reason: "the input is a URL"}, []string{"always        not possible: the input is a URL\n"}},
	} {
		u := &user{lines: []string{"?", "q"}}
		d := u.dialogue()
		d.Places = func(object.Ref) Places { return tt.places }
		d.Decide(contested(t))
		for _, want := range tt.want {
			if !strings.Contains(u.screen.String(), want) {
				t.Errorf("no %q in\n%s", want, &u.screen)
			}
		}
	}
}
