package review

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Reach records the present state of an object of the reviewed plan: owned has our fields, with
// kind, namespace and name, and live is the object. A run that was cut may have left it as reviewed.
// hide masks a text as the output of this run does.
func (p *Plan) Reach(was Outcome, owned map[string]any, live *unstructured.Unstructured, hide func(string) string) {
	after, ok := was.reachedBy(owned, live, hide)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !was.creates() && live.GetUID() != was.UID:
		if p.replaced == nil {
			p.replaced = map[object.Key]types.UID{}
		}
		p.replaced[was.Ref.Key()] = live.GetUID()
	case ok:
		if p.reached == nil {
			p.reached = map[object.Key]state{}
		}
		p.reached[was.Ref.Key()] = state{after, owned}
	}
}

// ReachGone records that a member that the reviewed plan deletes is gone.
func (p *Plan) ReachGone(ref object.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reached == nil {
		p.reached = map[object.Key]state{}
	}
	p.reached[ref.Key()] = state{}
}

// Declare records the manifest of an object that the reviewed plan creates although the server could not be
// asked, because its namespace or kind is created by the same run. A run that continues the plan can ask the
// server, whose answer has defaults, so it compares the manifest.
func (p *Plan) Declare(ref object.Ref, manifest map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.declared == nil {
		p.declared = map[object.Key]Outcome{}
	}
	p.declared[ref.Key()] = Outcome{Ref: ref, Action: event.Create, Unchecked: true, After: manifest}
}

// state is the state that a reviewed change leaves. after encodes the reviewed values.
type state struct {
	after string
	owned map[string]any
}

// reachedBy reports whether all reviewed values are in the object and belong to us. The content of
// a new object is compared later, because the values of all Secrets must be known for that.
func (o Outcome) reachedBy(owned map[string]any, live *unstructured.Unstructured, hide func(string) string) (after string, ok bool) {
	isSame := func(shown, ours any) bool {
		if o.partly {
			return asText(shown) == hidden(asText(ours), hide)
		}
		return masks(asText(shown), asText(ours))
	}
	if o.creates() {
		return afterText(o.Ref, owned, nil), true
	}
	var values []Change
	for _, c := range o.Changes {
		path, err := fieldpath.ParsePath(c.Path)
		if err != nil {
			return "", false
		}
		ours, has := path.Get(owned)
		switch c.Kind {
		case managedfields.Contested:
			return "", false
		case managedfields.Removed:
			if _, there := path.Get(live.Object); there {
				return "", false
			}
		case managedfields.Surplus: // The server may have set a default.
			if v, there := path.Get(live.Object); there && (redact.IsSecret(o.Ref) || isSame(c.From, v)) {
				return "", false
			}
		case managedfields.Released:
			if has {
				return "", false
			}
		default:
			// The values of Secrets are compared by their digest.
			if !has || !redact.IsSecret(o.Ref) && !isSame(c.To, ours) {
				return "", false
			}
			values = append(values, Change{Path: c.Path, To: ours})
		}
	}
	return afterText(o.Ref, nil, values), o.ownsAll(owned, live)
}

// ownsAll reports whether the paths that were to become ours are ours, and those to be released are
// not. The server can drop a value that is empty, but not its owner.
func (o Outcome) ownsAll(owned map[string]any, live *unstructured.Unstructured) bool {
	for _, c := range o.Ownership {
		if c.Becomes == event.BecomesLost {
			continue
		}
		for _, text := range c.Paths {
			path, err := fieldpath.ParsePath(text)
			if err != nil {
				return false
			}
			_, has := path.Get(owned)
			_, there := path.Get(live.Object)
			if has == (c.Becomes == event.BecomesReleased) && there {
				return false
			}
		}
	}
	return true
}

// afterOutcome encodes the values that an outcome leaves.
func (o Outcome) afterOutcome() string {
	if o.creates() {
		return afterText(o.Ref, o.After, nil)
	}
	var values []Change
	for _, c := range o.Changes {
		switch c.Kind {
		case managedfields.Contested, managedfields.Removed, managedfields.Released, managedfields.Surplus:
		default:
			values = append(values, Change{Path: c.Path, To: c.To})
		}
	}
	return afterText(o.Ref, nil, values)
}

func afterText(ref object.Ref, content map[string]any, values []Change) string {
	sortChanges(values)
	return asText([]any{ref.GVK.Group, ref.GVK.Kind, ref.Namespace, ref.Name, unnamed(content), values})
}

func (o Outcome) creates() bool { return o.Action == event.Create || o.Action == event.Recreate }

// unnamed returns the content of a created object as a recreation shows it: without kind, namespace
// and name.
func unnamed(content map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	for _, field := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "namespace"}, {"metadata", "name"}} {
		unstructured.RemoveNestedField(u.Object, field...)
	}
	if meta, ok := u.Object["metadata"].(map[string]any); ok && len(meta) == 0 {
		delete(u.Object, "metadata")
	}
	return u.Object
}

// Continue compares the plan with a reviewed plan that a former run may have applied in part. done
// lists the objects that are as reviewed already; they are excluded from the differences.
// Unproven lists the Secrets that are still to change, if their former values cannot be compared
// with the reviewed ones. A recreation that was cut after the deletion, and an update that was cut
// after the owners had changed, are as reviewed. hide masks a text as the output of this run does.
func (p *Plan) Continue(was Document, hide func(string) string) (done []object.Ref, found []Difference, unproven []object.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, secrets := p.maskedOutcomes(), p.asDeclared(was)
	for key, o := range was.Outcomes {
		if current := now[key]; o.Unchecked && current.Action == event.Create && p.declared[key].After != nil {
			now[key] = p.digested(p.declared[key], secrets)
		}
	}
	rest, pending := maps.Clone(was.Outcomes), maps.Clone(now)
	for key, o := range was.Outcomes {
		current, changes := now[key]
		switch {
		case !changes && p.isReached(o, secrets):
			done = append(done, o.Ref)
			delete(rest, key)
		case changes && (p.isDeleted(o, current) || o.isAdopted(current)):
			delete(rest, key)
			delete(pending, key)
		case !changes && p.replaced[key] != "":
			pending[key] = Outcome{Ref: o.Ref, Action: event.None, UID: p.replaced[key]}
		}
	}
	slices.SortFunc(done, object.Ref.Compare)
	if found = Differences(rest, pending, hide); len(found) > 0 {
		return done, found, nil
	}
	return done, nil, p.unproven(was, now, secrets, done)
}

// asDeclared returns the outcomes for Secrets with real values, with those that the reviewed plan creates
// unchecked as their manifests declare them. The caller holds the mutex.
func (p *Plan) asDeclared(was Document) map[object.Key]Outcome {
	out := maps.Clone(p.secrets)
	for key, declared := range p.declared {
		if redact.IsSecret(declared.Ref) && was.Outcomes[key].Unchecked {
			if out == nil {
				out = map[object.Key]Outcome{}
			}
			out[key] = declared
		}
	}
	return out
}

// isReached reports whether an object is as a reviewed outcome leaves it. An object that was to be created
// unchecked is, if an apply of the reviewed manifest would not change it. The caller holds the mutex.
func (p *Plan) isReached(o Outcome, secrets map[object.Key]Outcome) bool {
	s, known := p.reached[o.Ref.Key()]
	switch declared := p.declared[o.Ref.Key()]; {
	case !known || !o.creates():
		return known
	case o.Unchecked && declared.After != nil:
		return p.digested(declared, secrets).digest == o.Digest()
	}
	content := s.owned
	if redact.IsSecret(o.Ref) {
		_, content = redact.Pair(o.Ref, nil, content)
	}
	return hash(p.masked(asText(content))) == o.content
}

// isDeleted reports whether a reviewed recreation needs only its creation now. The caller holds the
// mutex.
func (p *Plan) isDeleted(o, now Outcome) bool {
	return o.Action == event.Recreate && now.Action == event.Create && !now.Unchecked && hash(p.masked(asText(unnamed(now.After)))) == o.content
}

// isAdopted reports whether the reviewed outcome is left, except that some fields of the managers that it
// adopts are ours already: an apply moves them, one manager and one step after the other, before it sends the
// manifest. So it makes no change of owners that was not reviewed.
func (o Outcome) isAdopted(now Outcome) bool {
	if len(o.Adopted) == 0 || o.partly {
		return false
	}
	for _, manager := range now.Adopted {
		if !slices.Contains(o.Adopted, manager) {
			return false
		}
	}
	reviewed := o.ownersAt()
	for path, words := range now.ownersAt() {
		for _, change := range words {
			if !slices.Contains(reviewed[path], change) {
				return false
			}
		}
	}
	o.Adopted, o.Ownership, o.digest = now.Adopted, now.Ownership, ""
	return o.Digest() == now.Digest()
}

// unproven returns the objects whose values of Secrets differ from the reviewed ones, or cannot be
// compared. An object that is done has lost its former values. Then the others are compared by their
// versions, and all by the values that they are to have.
func (p *Plan) unproven(was Document, now, secrets map[object.Key]Outcome, done []object.Ref) []object.Ref {
	if was.Values == "" {
		return nil
	}
	_, salt, _ := strings.Cut(was.Digest, ".")
	values := p.values(now, secrets, done, salt)
	if strings.HasPrefix(was.Values, values.full) {
		return nil
	}
	sameAfter := strings.HasSuffix(was.Values, values.after)
	var refs []object.Ref
	for key, o := range now {
		isBefore := o.Action == event.Create || was.Outcomes[key].version == values.seal(o.Ref, p.versions[key])
		if o.Secret && (!sameAfter || !isBefore) {
			refs = append(refs, o.Ref)
		}
	}
	if len(refs) == 0 && !sameAfter {
		refs = done
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

// values has the slow digests of the values of Secrets: of all outcomes with the values that they
// replace (full), and of the values that they leave (after). Only a user who knows the latter can
// derive the key.
type values struct {
	full, after string
	key         []byte
}

// seal returns a digest of the version of an object, which proves to a run that continues the plan
// that the object has not changed since. Without the key, the editor of a file could state another
// version.
func (v values) seal(ref object.Ref, version string) string {
	if version == "" {
		return ""
	}
	code := hmac.New(sha256.New, v.key)
	code.Write([]byte(asText([]string{ref.GVK.Group, ref.GVK.Kind, ref.Namespace, ref.Name, version})))
	return hex.EncodeToString(code.Sum(nil)[:size])
}

// values returns the digests of the values in all outcomes, and in the objects that are done. The
// caller holds the mutex.
func (p *Plan) values(outcomes, secrets map[object.Key]Outcome, done []object.Ref, salt string) values {
	var texts, afters []string
	for key, o := range outcomes {
		if whole, isSecret := secrets[key]; isSecret {
			texts, afters = append(texts, whole.text()), append(afters, whole.afterOutcome())
			continue
		}
		if o.Secret {
			texts = append(texts, o.text())
		}
		if text := o.afterOutcome(); p.masked(text) != text {
			afters = append(afters, text)
		}
	}
	for _, ref := range done {
		text := p.reached[ref.Key()].after
		if declared, is := p.declared[ref.Key()]; is {
			text = declared.afterOutcome()
		}
		if redact.IsSecret(ref) && text != "" || p.masked(text) != text {
			afters = append(afters, text)
		}
	}
	var out values
	out.full, _ = derived(texts, salt)
	out.after, out.key = derived(afters, salt)
	return out
}
