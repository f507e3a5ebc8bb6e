package apply

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

// confirmation is the reviewed digest and, if --confirm names a file, all outcomes.
type confirmation struct {
	digest   string
	reviewed *review.Document
}

func confirmationOf(given string) (*confirmation, error) {
	if review.IsDigest(given) {
		return &confirmation{digest: given}, nil
	}
	text, err := os.ReadFile(given)
	if errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(given, ".json") && !strings.HasSuffix(given, ".yaml") {
		return nil, object.Hinted("use the digest that diff prints, or a file with the output of diff -o json",
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
		return unreviewed("--confirm="+c.digest+" does not match: nothing would change now, perhaps because the changes were already applied", nil)
	case c.reviewed == nil:
		return unreviewed("--confirm="+c.digest+" does not match what would change now", wouldBe(outcomes))
	}
	found := review.Differences(c.reviewed.Outcomes, outcomes) // Compare even if the digests are equal: the file may have been edited.
	switch {
	case same && len(found) == 0:
		return nil
	case len(found) == 0:
		return unreviewed(hidden(outcomes), nil)
	}
	objects := map[object.Key]bool{}
	for _, d := range found {
		objects[d.Ref.Key()] = true
	}
	return unreviewed(text.Count(len(objects), "object")+" would differ from what was reviewed", named(found, now))
}

// unreviewed returns the error for a run that would not make the reviewed changes. It limits the
// number of lines of evidence.
func unreviewed(why string, evidence []string) error {
	const most = 40
	lines := append([]string{"nothing was written: " + why}, evidence[:min(most, len(evidence))]...)
	if rest := len(evidence) - most; rest > 0 {
		lines = append(lines, fmt.Sprintf("  and %s", text.Count(rest, "more line")))
	}
	return unreviewedError(strings.Join(lines, "\n"))
}

// hidden explains why two plans differ although no difference can be shown.
func hidden(outcomes map[object.Key]review.Outcome) string {
	var secrets []string
	for _, o := range outcomes {
		if o.Secret {
			secrets = append(secrets, o.Ref.String())
		}
	}
	slices.Sort(secrets)
	if len(secrets) == 0 {
		return "the review was for another field manager or set"
	}
	return "a value in " + strings.Join(secrets, " or in ") + " differs from the reviewed one"
}

// named returns two lines for each difference: the path, and the reviewed and current changes.
func named(found []review.Difference, now time.Time) []string {
	var lines []string
	for i, said := range saidOf(found, now) {
		d := found[i]
		lines = append(lines, strings.TrimRight("  "+d.Ref.String()+"  "+d.Path, " "), "    "+said)
	}
	return lines
}

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
			said += " (" + by.Manager
			if !by.Time.IsZero() {
				said += ", " + max(now.Sub(by.Time), 0).Round(time.Second).String() + " ago"
			}
			said += ")"
		}
		out = append(out, said)
	}
	return out
}

func whole(d review.Difference) string {
	was, now := actionOf(d.WasAction), actionOf(d.NowAction)
	switch {
	case was != now && d.WasAction == event.Delete:
		now = "kept, or already gone"
	case was != now:
	case redact.IsSecret(d.Ref):
		now = "with different values, fields or owners"
	default:
		now = "with different fields or owners"
	}
	return "reviewed " + was + ", now " + now
}

func actionOf(a event.Action) string {
	if a == event.None || a == "" {
		return "unchanged"
	}
	return "to " + string(a)
}

// sideOf describes one side: its values, and how else it differs from the other side.
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
	switch c.Kind { //nolint:exhaustive // all other kinds have two sides
	case managedfields.Added:
		from = "nothing"
	case managedfields.Removed:
		to = "nothing"
	}
	return from + " → " + to
}

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

func unreviewedError(said string) error {
	return verb.Unconfirmed("review what "+command.Kubectl("k8sconnect", "diff")+" shows now, and confirm that", "%s", said)
}
