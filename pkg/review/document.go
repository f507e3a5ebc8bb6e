package review

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Document is a plan in the form that diff prints.
type Document struct {
	Digest   string
	Values   string
	Cluster  event.Cluster
	Outcomes map[object.Key]Outcome
}

type documentObject struct {
	APIVersion string                 `json:"apiVersion"`
	Kind       string                 `json:"kind"`
	Namespace  string                 `json:"namespace"`
	Name       string                 `json:"name"`
	Action     event.Action           `json:"action"`
	Digest     string                 `json:"digest"`
	Content    string                 `json:"content"`
	UID        types.UID              `json:"uid"`
	Version    string                 `json:"version"`
	Reason     string                 `json:"reason"`
	Adopted    []string               `json:"adopted"`
	Sharing    *managedfields.Sharing `json:"sharing"`
	Ownership  []event.OwnerChange    `json:"ownership"`
	Changes    []struct {
		Path   string                   `json:"path"`
		Change managedfields.ChangeKind `json:"change"`
		From   any                      `json:"from"`
		To     any                      `json:"to"`
		Owners []managedfields.Owner    `json:"owners"`
		Atomic bool                     `json:"atomic"`
		Same   bool                     `json:"sameValue"`
	} `json:"changes"`
}

var errNoDiff = errors.New("it is not the output of diff -o json")

// Verify returns an error if an object's digest is not the digest of what the document shows for the object.
// The plan must know the values of the run's Secrets, which digests mask.
func (d Document) Verify(p *Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range d.Outcomes {
		if o.doubtful && objectDigest(p.masked(o.head()), o.content) != o.digest {
			return edited("the digest of %s does not match its changes", o.Ref)
		}
	}
	return nil
}

// Read reads a DiffResult in JSON or YAML. Call [Document.Verify] once the values of Secrets are known.
func Read(text []byte) (Document, error) {
	var in struct {
		Kind    string               `json:"kind"`
		Digest  string               `json:"digest"`
		Values  string               `json:"values"`
		Cluster event.Cluster        `json:"cluster"`
		Objects []documentObject     `json:"objects"`
		Summary map[event.Action]int `json:"summary"`
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Document{}, object.Hinted("run diff again, and look at its exit status", "it is empty, as after a diff that failed")
	}
	if err := decode(text, &in); err != nil {
		return Document{}, err
	}
	switch {
	case in.Kind == "":
		return Document{}, errNoDiff
	case in.Kind != "DiffResult":
		return Document{}, fmt.Errorf("it is a %q, not the output of diff -o json", in.Kind)
	case isFormerDigest(in.Digest):
		return Document{}, object.Hinted("run diff again, and review and confirm the new file",
			"it comes from an earlier release, whose plans bound neither UIDs nor all changes of owners")
	case in.Digest != "" && !IsDigest(in.Digest):
		return Document{}, edited("its digest is not one: %s", cmp.Or(Malformed(in.Digest), "it has another form"))
	case !IsDigest(in.Digest):
		return Document{}, object.Hinted("see which objects diff reports as unknown; if one uses what a CRD of the same input adds, apply the CRD first",
			"it has no digest: the result for some objects was unknown")
	}
	out := Document{Digest: in.Digest, Values: in.Values, Cluster: in.Cluster, Outcomes: map[object.Key]Outcome{}}
	counts := map[event.Action]int{}
	for _, o := range in.Objects {
		counts[o.Action]++
		outcome := o.outcome()
		if _, twice := out.Outcomes[outcome.Ref.Key()]; twice {
			return Document{}, edited("it contains %s twice", outcome.Ref)
		}
		changes := outcome.Action != event.None && outcome.Action != event.Kept
		switch {
		case !changes && o.Digest == "" && len(o.Changes) == 0:
			continue
		case o.Digest == "":
			return Document{}, edited("%s has no digest", outcome.Ref)
		}
		// Output can mask more than the digest does: values of Secrets outside the plan. It can mask less, too:
		// a value that is also the name of another object.
		if outcome.Digest() != o.Digest {
			outcome.partly = strings.Contains(outcome.head(), redact.Mask)
			outcome.doubtful = !outcome.partly
		}
		outcome.digest = o.Digest
		out.Outcomes[outcome.Ref.Key()] = outcome
	}
	for action, n := range in.Summary {
		if counts[action] != n {
			return Document{}, edited("its summary has %d %s, but its objects are %d", n, action, counts[action])
		}
	}
	for action, n := range counts {
		if _, has := in.Summary[action]; in.Summary != nil && !has {
			return Document{}, edited("its summary lacks %d %s", n, action)
		}
	}
	return out, nil
}

func (o documentObject) outcome() Outcome {
	ref := object.Ref{GVK: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), Namespace: o.Namespace, Name: o.Name}
	out := Outcome{
		Ref: ref, Action: o.Action.Compared(), content: o.Content, version: o.Version, UID: o.UID,
		Adopted: slices.Sorted(slices.Values(o.Adopted)), Sharing: o.Sharing, Ownership: sortedOwnership(o.Ownership),
	}
	out.Departed = out.Action == event.Delete
	out.Unchecked = o.Reason != "" && (out.Action == event.Create || out.Action == event.Update)
	for _, c := range o.Changes {
		out.Changes = append(out.Changes, Change{
			Path: c.Path, Kind: c.Change, From: c.From, To: c.To, Owners: namesOf(c.Owners), Atomic: c.Atomic, Same: c.Same,
		})
	}
	sortChanges(out.Changes)
	return out
}

// decode refuses a second document and a key that occurs twice, because a person may read the one
// that does not count. Keys are case-sensitive for the same reason. A plan is usually JSON, which is
// decoded without the YAML parser: that takes longer than to compare a thousand objects.
func decode(text []byte, into any) error {
	if twice, err := json.UnmarshalStrict(text, into, json.DisallowDuplicateFields); err == nil && len(twice) == 0 {
		return nil
	}
	documents := yamlv3.NewDecoder(bytes.NewReader(text))
	var first, second yamlv3.Node
	if err := documents.Decode(&first); err != nil {
		return err
	}
	if err := documents.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("it contains more than one document")
	}
	content, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(content, into); err != nil {
		return errNoDiff
	}
	return nil
}

func edited(format string, args ...any) error {
	return object.Hinted("the file was edited; run diff again", format, args...)
}

// Is reports whether the digest of the document belongs to its objects and to the context, such as
// the field manager and the set.
func (d Document) Is(of ...string) bool {
	outcomes := make([]Outcome, 0, len(d.Outcomes))
	for _, o := range d.Outcomes {
		outcomes = append(outcomes, o)
	}
	_, salt, _ := strings.Cut(d.Digest, ".")
	return planDigest(outcomes, d.Values, salt, of) == d.Digest
}

// Masked returns the namespaces of the objects for which the document masks more values than the
// digest does.
func (d Document) Masked() []string {
	var namespaces []string
	for _, o := range d.Outcomes {
		if o.partly {
			namespaces = append(namespaces, o.Ref.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// shows reports whether an outcome from a document shows the other outcome, as masked by this run.
// An editor could mask other values to hide them from the reviewer.
func (o Outcome) shows(other Outcome, hide func(string) string) bool {
	if o.Action != other.Action || len(o.Changes) != len(other.Changes) || o.Ref != other.Ref && !o.Departed ||
		asText([]any{o.Adopted, o.Sharing, o.Ownership, o.Unchecked, o.UID}) !=
			asText([]any{other.Adopted, other.Sharing, other.Ownership, other.Unchecked, other.UID}) {
		return false
	}
	same := func(shown, value any) bool { return asText(shown) == hidden(asText(value), hide) }
	for _, c := range o.Changes {
		if !slices.ContainsFunc(other.Changes, func(d Change) bool {
			return c.Path == d.Path && c.Kind == d.Kind && c.Atomic == d.Atomic && c.Same == d.Same && slices.Equal(c.Owners, d.Owners) &&
				same(c.From, d.From) && same(c.To, d.To)
		}) {
			return false
		}
	}
	return true
}

func hidden(text string, hide func(string) string) string {
	if hide == nil {
		return text
	}
	return hide(text)
}

// masks reports whether a text is the other one, perhaps with masked parts.
func masks(masked, plain string) bool {
	parts := strings.Split(masked, redact.Mask)
	rest, ok := strings.CutPrefix(plain, parts[0])
	for i, part := range parts[1:] {
		last := i == len(parts)-2
		switch {
		case !ok || rest == "":
			return false
		case last:
			return len(rest) > len(part) && strings.HasSuffix(rest, part)
		}
		_, rest, ok = strings.Cut(rest[1:], part)
	}
	return ok && rest == ""
}
