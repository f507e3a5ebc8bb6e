package review

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func refTo(kind, name string) object.Ref {
	return object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "shop", Name: name}
}

// update returns a change of an image that another manager also owns, at the given time.
func update(at time.Time) event.Compared {
	return event.Compared{Ref: refTo("Pod", "web"), Action: event.Update, Changes: []managedfields.Change{
		{Path: fieldpath.Field("spec", "image"), Kind: managedfields.Contested, From: "a", To: "b", Owners: []managedfields.Owner{
			{Manager: "helm", Operation: managedfields.Update, Time: at}, {Manager: "ci", Operation: managedfields.Apply, Time: at},
		}},
		{Path: fieldpath.Field("spec", "replicas"), Kind: managedfields.Changed, From: int64(1), To: int64(2)},
	}}
}

func planOf(all ...event.Compared) *Plan {
	var p Plan
	for _, c := range all {
		p.See(c)
	}
	return &p
}

// A digest depends only on the outcome of objects.
func TestDigestCoversOutcome(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	deletion := event.Compared{Ref: refTo("ConfigMap", "old"), Action: event.Delete, Departed: true}
	creation := event.Compared{Ref: refTo("ConfigMap", "new"), Action: event.Create, After: map[string]any{"data": map[string]any{"n": int64(1)}}}
	want := planOf(update(now), deletion, creation).Digest("")
	for name, tt := range map[string]struct {
		mutate func(u, d, c *event.Compared)
		same   bool
	}{
		"nothing":                             {func(_, _, _ *event.Compared) {}, true},
		"the age of an owner":                 {func(u, _, _ *event.Compared) { *u = update(now.Add(time.Hour)) }, true},
		"the order of changes":                {func(u, _, _ *event.Compared) { u.Changes[0], u.Changes[1] = u.Changes[1], u.Changes[0] }, true},
		"the order of owners":                 {func(u, _, _ *event.Compared) { o := u.Changes[0].Owners; o[0], o[1] = o[1], o[0] }, true},
		"the type of a number":                {func(_, _, c *event.Compared) { c.After["data"] = map[string]any{"n": 1.0} }, true},
		"the source file":                     {func(u, _, _ *event.Compared) { u.Source.File = "b.yaml" }, true},
		"the API version of a deleted object": {func(_, d, _ *event.Compared) { d.Ref.GVK.Version = "v2" }, true},
		"the content of a deleted object":     {func(_, d, _ *event.Compared) { d.Before = map[string]any{"data": "x"} }, true},
		"the old value":                       {func(u, _, _ *event.Compared) { u.Changes[1].From = int64(3) }, false},
		"the new value":                       {func(u, _, _ *event.Compared) { u.Changes[1].To = int64(3) }, false},
		"a string instead of a number":        {func(u, _, _ *event.Compared) { u.Changes[1].To = "2" }, false},
		"an owner":                            {func(u, _, _ *event.Compared) { u.Changes[0].Owners[0].Manager = "argocd" }, false},
		"an owner's subresource":              {func(u, _, _ *event.Compared) { u.Changes[0].Owners[0].Subresource = "scale" }, false},
		"contested or taken":                  {func(u, _, _ *event.Compared) { u.Changes[0].Kind = managedfields.TakenOver }, false},
		"a missing path":                      {func(u, _, _ *event.Compared) { u.Changes = u.Changes[:1] }, false},
		"recreated":                           {func(u, _, _ *event.Compared) { u.Action = event.Recreate }, false},
		"adopted":                             {func(u, _, _ *event.Compared) { u.Adopted = []string{"kubectl"} }, false},
		"shared":                              {func(u, _, _ *event.Compared) { u.Sharing = &managedfields.Sharing{Claimed: 1} }, false},
		"another UID of the changed object":   {func(u, _, _ *event.Compared) { u.UID = "other" }, false},
		"a path that becomes owned": {func(u, _, _ *event.Compared) {
			u.Ownership = []event.OwnerChange{{Becomes: event.BecomesOwned, Paths: []string{".spec.paused"}}}
		}, false},
		"the version of the API":            {func(u, _, _ *event.Compared) { u.Ref.GVK.Version = "v2" }, false},
		"another deleted object":            {func(_, d, _ *event.Compared) { d.Ref.Name = "older" }, false},
		"another UID of the deleted object": {func(_, d, _ *event.Compared) { d.UID = "other" }, false},
		"object is not deleted":             {func(_, d, _ *event.Compared) { d.Action = event.None }, false},
		"namespace of the deleted object":   {func(_, d, _ *event.Compared) { d.Ref.Namespace = "prod" }, false},
		"created with an additional field":  {func(_, _, c *event.Compared) { c.After["immutable"] = true }, false},
		"created unchecked":                 {func(_, _, c *event.Compared) { c.Reason = "not checked by the server" }, false},
	} {
		u, d, c := update(now), deletion, creation
		c.After = map[string]any{"data": creation.After["data"]}
		tt.mutate(&u, &d, &c)
		if got := planOf(c, u, d).Digest(""); (got == want) != tt.same {
			t.Errorf("%s: got the same digest: %v, want the opposite", name, got == want)
		}
	}
	if planOf(deletion).Digest("", "a") == planOf(deletion).Digest("", "b") {
		t.Error("two sets have the same digest")
	}
	if !IsDigest(want) || IsDigest("plan") || IsDigest(want+".") {
		t.Errorf("IsDigest is wrong for %s or for a malformed digest", want)
	}
}

// A digest covers each part of the changes of owners, but neither their order nor times.
func TestDigestCoversOwnership(t *testing.T) {
	helm := managedfields.Owner{Manager: "helm", Operation: managedfields.Apply}
	of := func(changes ...event.OwnerChange) string {
		u := update(time.Time{})
		u.Ownership = changes
		return planOf(u).Digest("")
	}
	shared := event.OwnerChange{Becomes: event.BecomesShared, Owners: []managedfields.Owner{helm}, Paths: []string{".a", ".b"}}
	owned := event.OwnerChange{Becomes: event.BecomesOwned, Paths: []string{".c"}}
	want := of(shared, owned)
	for name, tt := range map[string]struct {
		changes []event.OwnerChange
		same    bool
	}{
		"another order": {[]event.OwnerChange{owned, {Becomes: shared.Becomes, Owners: shared.Owners, Paths: []string{".b", ".a"}}}, true},
		"another time": {[]event.OwnerChange{owned, {Becomes: shared.Becomes, Paths: shared.Paths, Owners: []managedfields.Owner{
			{Manager: "helm", Operation: managedfields.Apply, APIVersion: "v1", Time: time.Unix(1, 0)},
		}}}, true},
		"another path":      {[]event.OwnerChange{owned, {Becomes: shared.Becomes, Owners: shared.Owners, Paths: []string{".a", ".d"}}}, false},
		"a path fewer":      {[]event.OwnerChange{owned, {Becomes: shared.Becomes, Owners: shared.Owners, Paths: []string{".a"}}}, false},
		"taken, not shared": {[]event.OwnerChange{owned, {Becomes: event.BecomesTaken, Owners: shared.Owners, Paths: shared.Paths}}, false},
		"no owner":          {[]event.OwnerChange{owned, {Becomes: shared.Becomes, Paths: shared.Paths}}, false},
		"another operation": {[]event.OwnerChange{owned, {Becomes: shared.Becomes, Paths: shared.Paths, Owners: []managedfields.Owner{{Manager: "helm", Operation: managedfields.Update}}}}, false},
		"a change fewer":    {[]event.OwnerChange{owned}, false},
	} {
		if got := of(tt.changes...); (got == want) != tt.same {
			t.Errorf("%s: got the same digest: %v, want the opposite", name, got == want)
		}
	}
}

// Each text that resembles a digest has its own explanation, so that a user sees how it was copied.
func TestMalformed(t *testing.T) {
	const hex, salt = "0123456789abcdef0123456789abcdef", ".0123456789abcdef"
	for text, want := range map[string]string{
		"v2-" + hex:                         "",
		"v2-" + hex + salt:                  "",
		"plan":                              "",
		"./v2-plan":                         "",
		"add.json":                          "",
		hex:                                 "earlier release",
		hex + salt:                          "earlier release",
		hex[:24]:                            "earlier release",
		hex[:8]:                             "earlier release",
		"abc":                               "it has 3 digits before the salt instead of 32",
		"v2-" + hex[:31]:                    "it has 31 digits before the salt instead of 32",
		"v2-" + hex + "0":                   "it has 33 digits before the salt instead of 32",
		"v2-" + hex + ".":                   "its salt has 0 digits instead of 16",
		"v2-" + hex + salt[:9]:              "its salt has 8 digits instead of 16",
		" v2-" + hex:                        "spaces or line breaks",
		"v2-" + hex + salt + "\r":           "spaces or line breaks",
		"V2-" + hex:                         "upper-case",
		strings.ToUpper("v2-" + hex + salt): "upper-case",
		"v3-" + hex:                         "another release",
		"v2-" + strings.Replace(hex, "f", "g", 1): "",
	} {
		got := Malformed(text)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("Malformed(%q) = %q, want %q", text, got, want)
		}
		if got != "" && IsDigest(text) {
			t.Errorf("%q is a digest, but Malformed explains it: %s", text, got)
		}
	}
}

func secret(value string) event.Compared {
	return event.Compared{Ref: refTo("Secret", "token"), Action: event.Create, After: map[string]any{"data": map[string]any{"token": value}}}
}

func withSecret(value string) *Plan {
	p := planOf(secret("***"))
	p.SeeSecret(secret(value))
	return p
}

// Values of Secrets are salted. Two digests of one plan differ, and both identify the plan. With
// another value, the plan has another digest. A plan without Secrets needs no salt.
func TestDigestSaltsSecretValues(t *testing.T) {
	first, second := withSecret("c2VjcmV0").Digest(""), withSecret("c2VjcmV0").Digest("")
	if first == second {
		t.Errorf("two digests have one salt: %s", first)
	}
	if got := withSecret("c2VjcmV0").Digest(first); got != first {
		t.Errorf("with the salt of the first digest: got %s, want %s", got, first)
	}
	if got := withSecret("b3RoZXI=").Digest(first); got == first || !strings.HasSuffix(got, first[35:]) {
		t.Errorf("with another value: got %s, want another digest than %s with the same salt", got, first)
	}
	if !IsDigest(first) {
		t.Errorf("IsDigest(%s) = false, want true", first)
	}
	if got := planOf(update(time.Time{})).Digest(first); strings.Contains(got, ".") {
		t.Errorf("without Secrets: %s", got)
	}
}

// If another object contains the value of a Secret, the value cannot be guessed from the digest,
// either. With another value, the plan has another digest.
func TestDigestSaltsSecretValuesInOtherObjects(t *testing.T) {
	const value = "hunter2-hunter2"
	configured := func(to string) *Plan {
		u := update(time.Time{})
		u.Changes[0].To = to
		p := planOf(u)
		p.Learn(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "token", "namespace": "shop"},
			"stringData": map[string]any{"a": value, "b": "another-word-8"},
		}}, nil)
		return p
	}
	ofObject := func(p *Plan) string { return p.Outcomes()[refTo("Pod", "web").Key()].Digest() }
	p := configured(value)
	digest := p.Digest("")
	if !strings.Contains(digest, ".") || p.Digest("") == digest {
		t.Errorf("the digest has no salt of its own: %s", digest)
	}
	if got := configured(value).Digest(digest); got != digest {
		t.Errorf("the same value: %s, was %s", got, digest)
	}
	if got := configured("another-word-8").Digest(digest); got == digest {
		t.Errorf("another value of a Secret has the same digest: %s", got)
	}
	if ofObject(p) != ofObject(configured("another-word-8")) {
		t.Error("the digest of the object depends on the value of the Secret")
	}
	if !p.Outcomes()[refTo("Pod", "web").Key()].Secret {
		t.Error("the outcome does not say that it has values of Secrets")
	}
	if got := configured("plain").Digest(digest); strings.Contains(got, ".") {
		t.Errorf("without a value of a Secret: %s", got)
	}
}
