package review

import (
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// namesOfDifferences returns the objects and paths that differ, each with its reviewed and its
// current outcome.
func namesOfDifferences(all []Difference) string {
	side := func(c *Change, a event.Action) string {
		if c == nil {
			return string(a)
		}
		return asText(c.From) + ">" + asText(c.To)
	}
	var out []string
	for _, d := range all {
		out = append(out, strings.TrimSpace(d.Ref.Name+" "+d.Path)+": "+side(d.Was, d.WasAction)+", "+side(d.Now, d.NowAction))
	}
	return strings.Join(out, "\n")
}

// Plans differ by path, or by object if no path shows the difference. An object that is not in the
// reviewed plan must not change.
func TestDifferences(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	update := func(at time.Time) event.Compared {
		u := update(at)
		u.UID = "reviewed"
		return u
	}
	other := update(late)
	other.Ref.Name = "db"
	for name, tt := range map[string]struct {
		mutate func(u *event.Compared)
		want   string
	}{
		"none":              {func(*event.Compared) {}, ""},
		"the age of owners": {func(u *event.Compared) { *u = update(late) }, ""},
		"a value": {
			func(u *event.Compared) { u.Changes[1].From = int64(5) },
			`web .spec.replicas: 1>2, 5>2`,
		},
		"an additional path": {
			func(u *event.Compared) {
				u.Changes = append(u.Changes, managedfields.Change{Path: fieldpath.Field("spec", "x"), Kind: managedfields.Added, To: "1"})
			},
			`web .spec.x: update, null>"1"`,
		},
		"a missing path": {func(u *event.Compared) { u.Changes = u.Changes[:1] }, `web .spec.replicas: 1>2, update`},
		"unchanged":      {func(u *event.Compared) { u.Action, u.Changes = event.None, nil }, "web .spec.image: \"a\">\"b\", none\nweb .spec.replicas: 1>2, none"},
		"gone":           {func(u *event.Compared) { u.Action, u.Changes = event.Create, nil }, `web: update, create`},
		"another UID":    {func(u *event.Compared) { u.UID = "other" }, `web: update, update`},
		"another owner of a path": {func(u *event.Compared) {
			u.Ownership = []event.OwnerChange{{Becomes: event.BecomesOwned, Paths: []string{".spec.paused"}}}
		}, "web .spec.paused: update, update"},
		"adopted":        {func(u *event.Compared) { u.Adopted = []string{"kubectl"} }, `web: update, update`},
		"another object": {func(u *event.Compared) { *u = other }, "db .spec.image: none, \"a\">\"b\"\ndb .spec.replicas: none, 1>2\nweb .spec.image: \"a\">\"b\", none\nweb .spec.replicas: 1>2, none"},
	} {
		u := update(early)
		tt.mutate(&u)
		was, now := planOf(update(early)), planOf(u)
		if got := namesOfDifferences(Differences(was.Outcomes(), now.Outcomes(), nil)); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
		if u.Ref.Name != "web" {
			continue
		}
		if got := namesOfDifferences(was.Confirms(u)); (got == "") != (tt.want == "") {
			t.Errorf("%s: Confirms() = %s, want a result only if Differences has one", name, got)
		}
	}
	by := Differences(nil, planOf(update(late)).Outcomes(), nil)[0].By()
	if by == nil || !by.Time.Equal(late) {
		t.Errorf("By() = %v, want the latest writer", by)
	}
}

// A create needs no comparison, and an unchecked object is confirmed by its manifest. No difference
// contains a value of a Secret.
func TestConfirms(t *testing.T) {
	create := func(reason string) event.Compared {
		return event.Compared{Ref: refTo("ConfigMap", "a"), Action: event.Create, Reason: reason, After: map[string]any{"data": "x"}}
	}
	taken := func(kind managedfields.ChangeKind) event.Compared {
		c := create("")
		c.Action, c.After = event.Update, nil
		c.Changes = []managedfields.Change{{Path: fieldpath.Field("data"), Kind: kind, From: "y", To: "x"}}
		return c
	}
	for name, tt := range map[string]struct {
		was, now event.Compared
		confirms bool
	}{
		"created":                           {create(""), event.Compared{Ref: refTo("ConfigMap", "a"), Action: event.Create}, true},
		"exists now, but was to be created": {create(""), taken(managedfields.Changed), false},
		"unchecked, exists now":             {create("not checked"), taken(managedfields.Changed), true},
		"unchecked, and taken":              {create("not checked"), taken(managedfields.TakenOver), false},
		"unchecked, in conflict":            {create("not checked"), taken(managedfields.Contested), false},
	} {
		if got := planOf(tt.was).Confirms(tt.now); (len(got) == 0) != tt.confirms {
			t.Errorf("%s: %s", name, namesOfDifferences(got))
		}
	}
	p := withSecret("c2VjcmV0")
	if got := p.Confirms(secret("c2VjcmV0")); len(got) != 0 {
		t.Errorf("the same Secret: %s", namesOfDifferences(got))
	}
	changed := secret("b3RoZXI=")
	changed.Action = event.Update
	if got := namesOfDifferences(p.Confirms(changed)); got != "token: create, update" {
		t.Errorf("another Secret: %s", got)
	}
}

// If admission stores another value of a Secret than the reviewed one, the path is named, but neither
// value.
func TestStoredHidesSecrets(t *testing.T) {
	const reviewed, now = "c2VjcmV0", "b3RoZXI="
	p, stored := withSecret(reviewed), secret(now)
	stored.After["data"].(map[string]any)["added"] = now
	if got := namesOfDifferences(p.Stored(stored, nil)); got != `token .data.added: update, null>"***"
token .data.token: null>"***", null>"***"` {
		t.Errorf("got:\n%s", got)
	}
	if got := p.Stored(secret(reviewed), nil); len(got) > 0 {
		t.Errorf("the reviewed Secret: %s", namesOfDifferences(got))
	}
}

// Each outcome in a document has its own digest, and the digest of the plan consists of these. So no
// part that a person reads can be edited.
func TestRead(t *testing.T) {
	p := planOf(update(time.Unix(1, 0)))
	o := p.Outcomes()[refTo("Pod", "web").Key()]
	text := `{"kind": "DiffResult", "digest": "` + p.Digest("") + `", "objects": [
		{"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web", "action": "configured", "digest": "` + o.Digest() + `", "changes": [
			{"path": ".spec.image", "change": "contested", "from": "a", "to": "b", "owners": [
				{"manager": "ci", "operation": "Apply", "time": "2026-01-02T03:04:05Z"}, {"manager": "helm", "operation": "Update"}]},
			{"path": ".spec.replicas", "change": "changed", "from": 1, "to": 2}]},
		{"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "db", "action": "unchanged"}]}`
	read, err := Read([]byte(text))
	if err != nil || read.Digest != p.Digest("") || read.Verify(p) != nil {
		t.Fatalf("%v: %v", read, err)
	}
	if got := Differences(read.Outcomes, p.Outcomes(), nil); len(got) > 0 {
		t.Errorf("unchanged document: got differences %s, want none", namesOfDifferences(got))
	}
	u := update(time.Unix(1, 0))
	u.Changes[1].To = int64(3)
	if got := namesOfDifferences(Differences(read.Outcomes, planOf(u).Outcomes(), nil)); got != `web .spec.replicas: 1>2, 1>3` {
		t.Errorf("another value: %s", got)
	}
	for name, change := range map[string][2]string{
		"a value":                 {`"to": 2}`, `"to": 3}`},
		"a large number":          {`"to": 2}`, `"to": 9007199254740993}`},
		"a former value":          {`"from": "a"`, `"from": "A"`},
		"a path":                  {`.spec.replicas`, `.spec.other`},
		"an owner":                {`"helm"`, `"argocd"`},
		"contested":               {`"contested"`, `"changed"`},
		"an action":               {`"configured"`, `"recreated"`},
		"configured to unchanged": {`"configured"`, `"unchanged"`},
		"a name":                  {`"web"`, `"www"`},
		"a namespace":             {`"shop"`, `"prod"`},
		"an object's digest":      {`"digest": "` + o.Digest(), `"digest": "` + strings.Repeat("0", 32)},
		"no digest":               {`"digest": "` + o.Digest(), `"digest": "`},
		"twice the same key":      {`"to": 2}`, `"to": 3, "to": 2}`},
		"a key in other case":     {`"to": 2}`, `"to": 3, "To": 2}`},
		"twice the same object":   {`"objects": [`, `"objects": [` + text[strings.Index(text, "{\"apiVersion"):strings.Index(text, "\t\t{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"namespace\": \"shop\", \"name\": \"db")]},
		"two documents":           {text, text + text},
		"two documents in YAML":   {text, text + "\n---\n" + text},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Fatalf("%s: not edited", name)
		}
		if read, err := Read([]byte(changed)); err == nil && read.Verify(p) == nil {
			t.Errorf("an edited document passes: %s: %v", name, read)
		}
	}
	if !read.Is() || read.Is("other") {
		t.Error("Is() is wrong for the digest of the document")
	}
	read.Outcomes = nil
	if read.Is() {
		t.Error("Is() is true although the document has lost its objects")
	}
	for action, want := range map[event.Action]event.Action{
		event.Created: event.Create, event.Recreated: event.Recreate, event.Pruned: event.Delete, event.Shared: event.Share,
	} {
		if got := action.Compared(); got != want {
			t.Errorf("%s is %s, want %s", action, got, want)
		}
	}
	for name, text := range map[string]string{
		"no JSON":           "{",
		"another kind":      `{"kind": "ApplyResult", "digest": "` + p.Digest("") + `"}`,
		"no digest":         `{"kind": "DiffResult"}`,
		"an earlier digest": `{"kind": "DiffResult", "digest": "0123456789abcdef01234567"}`,
	} {
		if got, err := Read([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
