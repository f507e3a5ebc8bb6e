package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// confirmation is what a user has reviewed: its digest and, if a file has it, all of it.
type confirmation struct {
	digest   string
	reviewed *review.Document
}

// confirmationOf reads what was given to --confirm.
func confirmationOf(given string) (*confirmation, error) {
	if review.IsDigest(given) {
		return &confirmation{digest: given}, nil
	}
	text, err := os.ReadFile(given)
	if errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(given, ".json") && !strings.HasSuffix(given, ".yaml") {
		return nil, object.Hinted("diff ends with the digest; with -o json, its output is the file",
			"--confirm: %q is neither a digest nor a file", given)
	}
	if err != nil {
		return nil, fmt.Errorf("--confirm: %w", err)
	}
	document, err := review.Read(text)
	if err != nil {
		return nil, fmt.Errorf("--confirm: %s: %w", given, err)
	}
	return &confirmation{digest: document.Digest, reviewed: &document}, nil
}

// allows returns nil if the plan is the one that was reviewed.
func (c *confirmation) allows(p *review.Plan, of []string, now time.Time) error {
	outcomes := p.Outcomes()
	same := p.Digest(c.digest, of...) == c.digest
	switch {
	case same && c.reviewed == nil:
		return nil
	case c.reviewed == nil && len(outcomes) == 0:
		return unreviewed("--confirm="+c.digest+" is for something else: nothing would change now, perhaps because it was applied already", nil)
	case c.reviewed == nil:
		return unreviewed("--confirm="+c.digest+" is for something other than what would change now", wouldBe(outcomes))
	}
	found := review.Differences(c.reviewed.Outcomes, outcomes) // Even if the digest says otherwise: a file may be edited.
	switch {
	case same && len(found) == 0:
		return nil
	case len(found) == 0:
		return unreviewed(hidden(outcomes), nil)
	}
	return unreviewed(becoming(found), named(found, now))
}

// unreviewed is the refusal of a run, with at most so many lines of evidence.
func unreviewed(why string, evidence []string) error {
	const most = 40
	lines := append([]string{"nothing was written: " + why}, evidence[:min(most, len(evidence))]...)
	if rest := len(evidence) - most; rest > 0 {
		lines = append(lines, fmt.Sprintf("  and %s", text.Count(rest, "more line")))
	}
	return unreviewedError(strings.Join(lines, "\n"))
}

// becoming counts the objects of differences.
func becoming(found []review.Difference) string {
	objects := map[object.Key]bool{}
	for _, d := range found {
		objects[d.Ref.Key()] = true
	}
	return text.Count(len(objects), "object") + " would not become what was reviewed"
}

// hidden says why two plans differ although they agree on every object, as far as may be shown.
func hidden(outcomes map[object.Key]review.Outcome) string {
	var secrets []string
	for _, o := range outcomes {
		if o.Secret {
			secrets = append(secrets, o.Ref.String())
		}
	}
	slices.Sort(secrets)
	if len(secrets) == 0 {
		return "what was reviewed was for another field manager or another set"
	}
	return "a value of " + strings.Join(secrets, " or of ") + " is another than was reviewed"
}

// named are lines with the path of each difference, and below it what was reviewed and what is now.
func named(found []review.Difference, now time.Time) []string {
	var lines []string
	for i, said := range saidOf(found, now) {
		d := found[i]
		lines = append(lines, strings.TrimRight("  "+d.Ref.String()+"  "+d.Path, " "), "    "+said)
	}
	return lines
}

// saidOf says of each difference what was reviewed and what is now.
func saidOf(found []review.Difference, now time.Time) []string {
	var out []string
	for _, d := range found {
		if d.Path == "" {
			out = append(out, whole(d))
			continue
		}
		was, is := sideOf(d.Was, d.Now), sideOf(d.Now, d.Was)
		if d.Was != nil && d.Now != nil && arrow(*d.Was) == arrow(*d.Now) && redact.IsSecret(d.Ref) {
			is += ", with another value"
		}
		said := "reviewed " + was + ", now " + is
		if by := d.By(); by != nil {
			said += " (" + by.Manager + ageOf(*by, now) + ")"
		}
		out = append(out, said)
	}
	return out
}

// ageOf is how long ago an owner wrote; empty if that is not known.
func ageOf(by managedfields.Owner, now time.Time) string {
	if by.Time.IsZero() {
		return ""
	}
	return ", " + max(now.Sub(by.Time), 0).Round(time.Second).String() + " ago"
}

// whole says how an object differs that has no path to name.
func whole(d review.Difference) string {
	was, now := actionOf(d.WasAction), actionOf(d.NowAction)
	switch {
	case was != now && d.WasAction == event.Delete:
		now = "it stays, or is gone already"
	case was != now:
	case redact.IsSecret(d.Ref):
		now = "with another value, or other fields or owners"
	default:
		now = "with other fields or owners"
	}
	return "reviewed " + was + ", now " + now
}

func actionOf(a event.Action) string {
	switch a {
	case event.None, "":
		return "unchanged"
	default:
		return "to " + string(a)
	}
}

// sideOf is one side of a difference: the values, and what happens to the path where the other side
// does not have it in common.
func sideOf(c, other *review.Change) string {
	if c == nil {
		return "unchanged"
	}
	said := arrow(*c)
	switch {
	case other == nil:
	case other.Kind != c.Kind:
		if c.Kind != managedfields.Changed && c.Kind != managedfields.Added {
			said += ", " + string(c.Kind)
		}
	case !slices.Equal(other.Owners, c.Owners):
		said += ", owned by " + cmp.Or(strings.Join(c.Owners, " and "), "no one")
	}
	return said
}

func arrow(c review.Change) string {
	from, to := format.Value(c.From), format.Value(c.To)
	switch c.Kind { //nolint:exhaustive // All others have two sides.
	case managedfields.Added:
		from = "nothing"
	case managedfields.Removed:
		to = "nothing"
	}
	return from + " → " + to
}

// wouldBe are lines about what would change now.
func wouldBe(outcomes map[object.Key]review.Outcome) []string {
	all := make([]review.Outcome, 0, len(outcomes))
	for _, o := range outcomes {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b review.Outcome) int { return a.Ref.Compare(b.Ref) })
	var lines []string
	for _, o := range all {
		lines = append(lines, "  "+string(o.Action)+"  "+o.Ref.String())
		for _, c := range o.Changes {
			lines = append(lines, "    "+c.Path+"  "+arrow(c))
		}
	}
	return lines
}

// unreviewedError says that what would change is not what was reviewed.
func unreviewedError(said string) error {
	return verb.Unconfirmed("review what "+command.Kubectl("k8sconnect", "diff")+" shows now, and confirm that", "%s", said)
}
