package apply

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
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
	// file is the name of the file; empty for a digest.
	file string
	// note prints a line to stderr.
	note func(string)
}

func confirmationOf(given string, note func(string)) (*confirmation, error) {
	if review.IsDigest(given) {
		return &confirmation{digest: given, note: note}, nil
	}
	text, err := readPlan(given)
	if why := review.Malformed(given); errors.Is(err, os.ErrNotExist) && why != "" {
		return nil, object.Hinted("run diff again, and confirm the digest that it prints", "--confirm: %q is neither a file nor a digest: %s", given, why)
	}
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
	return &confirmation{digest: document.Digest, reviewed: &document, file: given, note: note}, nil
}

// readPlan reads a file, at most as much as of a manifest. It reads only the beginning of a file that is
// not text, such as a device.
func readPlan(name string) ([]byte, error) {
	const most, head = 256 << 20, 4 << 10
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, head))
	if err != nil {
		return nil, err
	}
	isWide := bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) // UTF-16, as PowerShell writes
	if bytes.IndexByte(text, 0) >= 0 && !isWide {
		return nil, fmt.Errorf("%s: it is not text", name)
	}
	rest, err := io.ReadAll(io.LimitReader(file, most+1-int64(len(text))))
	if err != nil {
		return nil, err
	}
	if text = append(text, rest...); len(text) > most {
		return nil, fmt.Errorf("%s: it is larger than %d MiB", name, most>>20)
	}
	return text, nil
}

// allows returns nil if the run would make the reviewed changes, or those of them that a former run
// did not make.
func (c *confirmation) allows(p Proposal, now time.Time) error {
	outcomes := p.Plan.Outcomes()
	covers := setrun.OnCluster(p.Covers, p.Cluster)
	former, _ := p.Newest.Place.Plan(c.digest)
	used := former.Digest != "" && former.IsUsed(p.Newest)
	isLast := former.Applied && former.Number == p.Newest.Place.Number
	if c.reviewed == nil {
		matches := func(covers []string) bool {
			digest := func(covers ...string) string { return p.Plan.Digest(c.digest, covers...) }
			return digest(setrun.Anew(covers, p.Newest, digest)...) == c.digest
		}
		switch {
		case used && isLast && p.Same && len(outcomes) == 0:
			c.note("nothing is left to do: run " + former.Run + " has applied the plan")
			return nil
		case used:
			return unreviewed(repeated(former, p.Newest), nil)
		case matches(covers):
			return nil
		case matches(p.Covers): // The reviewer could not read the UID.
			c.note("the digest was not bound to a cluster; this is " + p.Cluster.String())
			return nil
		case len(outcomes) == 0:
			return unreviewed("--confirm="+c.digest+" does not match: nothing would change now, perhaps because the changes were already applied", nil)
		}
		if p.Cluster.UID == "" {
			return object.Hinted(kubeSystemAdvice,
				"nothing was written: --confirm=%s does not match, perhaps because it is unknown which cluster this is: %s", c.digest, p.Cluster.Unknown)
		}
		why := "--confirm=" + c.digest + " does not match what would change now in " + p.Cluster.String()
		return verb.Unconfirmed(reviewAgain()+"; only a file with the output of diff -o json can finish a run that was cut",
			"%s", withEvidence(why, wouldBe(outcomes)))
	}
	if err := c.reviewed.Verify(p.Plan); err != nil {
		return fmt.Errorf("nothing was written: --confirm: %s: %w", c.file, err)
	}
	switch reviewed := c.reviewed.Cluster; {
	case reviewed.UID == "":
		covers = p.Covers
		c.note("the plan is not bound to a cluster (" + cmp.Or(reviewed.Unknown, "it has no UID") + "); this is " + p.Cluster.String())
	case p.Cluster.UID == "":
		return object.Hinted(kubeSystemAdvice,
			"nothing was written: the plan was reviewed for %s, and it is unknown whether this is that cluster: %s", reviewed, p.Cluster.Unknown)
	case reviewed.UID != p.Cluster.UID:
		return unreviewed("the plan was reviewed for "+reviewed.String()+", this is "+p.Cluster.String(), nil)
	}
	times := 0
	for ; !c.reviewed.Is(setrun.Used(covers, times)...); times++ {
		if times == history.MostPlans {
			return unreviewed("the review was for another field manager or set, or the file was edited", nil)
		}
	}
	if used && len(outcomes) > 0 {
		return unreviewed(repeated(former, p.Newest), nil)
	}
	done, found, unproven := p.Plan.Continue(*c.reviewed, p.Hide)
	switch {
	case len(found) > 0:
		why := withEvidence(text.Count(objectsIn(found), "object")+" would differ from what was reviewed", named(found, now))
		if slices.ContainsFunc(found, lacksChoice) {
			return verb.Unconfirmed("pass apply the flags of the diff, such as --take; or "+reviewAgain(), "%s", why)
		}
		return unreviewedError(why)
	case len(unproven) > 0:
		return unreviewed(hidden(unproven, len(done) > 0), nil)
	}
	switch all := len(c.reviewed.Outcomes); {
	case len(done) == 0:
	case len(done) == all:
		c.note(fmt.Sprintf("nothing is left to do: the plan was already applied (%d of %s as reviewed)", all, text.Count(all, "object")))
	default:
		c.note(fmt.Sprintf("continuing the plan: %d of %s already as reviewed", len(done), text.Count(all, "object")))
	}
	return nil
}

const kubeSystemAdvice = "allow the account to get the namespace kube-system; docs/guard.md has a role"

// repeated explains why a plan cannot be used again. newest is the newest run of the set.
func repeated(former history.Plan, newest history.Run) string {
	at := former.Run + " on " + former.Started.UTC().Format(time.RFC3339)
	if former.Applied {
		return "the plan was already applied by run " + at + ", and the cluster has changed since"
	}
	return "run " + at + " began to apply the plan, and run " + newest.ID + " has changed the set since"
}

func objectsIn(found []review.Difference) int {
	objects := map[object.Key]bool{}
	for _, d := range found {
		objects[d.Ref.Key()] = true
	}
	return len(objects)
}

// lacksChoice reports whether the reviewed change is only contested now: perhaps a flag of the diff, such
// as --take, was not passed.
func lacksChoice(d review.Difference) bool {
	return d.Was != nil && d.Now != nil && d.Was.Kind == managedfields.TakenOver && d.Now.Kind == managedfields.Contested &&
		reflect.DeepEqual([]any{d.Was.From, d.Was.To}, []any{d.Now.From, d.Now.To})
}

// unreviewed returns the error for a run that would not make the reviewed changes.
func unreviewed(why string, evidence []string) error {
	return unreviewedError(withEvidence(why, evidence))
}

// withEvidence limits the number of lines of evidence.
func withEvidence(why string, evidence []string) string {
	const most = 40
	lines := append([]string{"nothing was written: " + why}, evidence[:min(most, len(evidence))]...)
	if rest := len(evidence) - most; rest > 0 {
		lines = append(lines, fmt.Sprintf("  and %s", text.Count(rest, "more line")))
	}
	return strings.Join(lines, "\n")
}

// hidden explains why two plans differ although no difference can be shown. continued means that a
// former run has applied a part of the plan.
func hidden(unproven []object.Ref, continued bool) string {
	names := make([]string, len(unproven))
	for i, ref := range unproven {
		names[i] = ref.String()
	}
	if continued {
		return "a part of the plan has been applied, and a value in " + strings.Join(names, " or in ") + " differs from the reviewed one or cannot be compared any more"
	}
	return "a value in " + strings.Join(names, " or in ") + " differs from the reviewed one"
}

// named returns two lines for each difference: the path, and the reviewed and current changes.
func named(found []review.Difference, now time.Time) []string {
	var lines []string
	for i, message := range messagesOf(found, now) {
		d := found[i]
		lines = append(lines, strings.TrimRight("  "+d.Ref.String()+"  "+d.Path, " "), "    "+message)
	}
	return lines
}

func messagesOf(found []review.Difference, now time.Time) []string {
	var out []string
	for _, d := range found {
		if d.Path == "" {
			out = append(out, whole(d))
			continue
		}
		was, is := sideOf(d.Was, d.Now), sideOf(d.Now, d.Was)
		if d.Was == nil && d.Now == nil {
			was, is = becoming(d.WasOwners), becoming(d.NowOwners)
		}
		if d.Was != nil && d.Now != nil && arrow(*d.Was) == arrow(*d.Now) && redact.IsSecret(d.Ref) {
			is += ", with another value"
		}
		message := "reviewed " + was + ", now " + is
		if by := d.By(); by != nil {
			message += " (" + by.Manager
			if !by.Time.IsZero() {
				message += ", " + max(now.Sub(by.Time), 0).Round(time.Second).String() + " ago"
			}
			message += ")"
		}
		out = append(out, message)
	}
	return out
}

// becoming describes one side of a difference that concerns only owners.
func becoming(owners string) string {
	if owners == "" {
		return "with the same owners"
	}
	return "to become " + owners
}

func whole(d review.Difference) string {
	was, now := actionOf(d.WasAction), actionOf(d.NowAction)
	switch {
	case d.Replaced:
		now = "another object of that name"
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
	message := arrow(*c)
	switch {
	case other == nil:
	case other.Kind != c.Kind:
		if c.Kind != managedfields.Changed && c.Kind != managedfields.Added {
			message += ", " + string(c.Kind)
		}
	case !slices.Equal(other.Owners, c.Owners):
		message += ", owned by " + cmp.Or(strings.Join(c.Owners, " and "), "no one")
	}
	return message
}

func arrow(c review.Change) string {
	from, to := format.Value(c.From), format.Value(c.To)
	switch c.Kind { //nolint:exhaustive // all other kinds have two sides
	case managedfields.Added:
		from = "nothing"
	case managedfields.Removed, managedfields.Surplus:
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

func unreviewedError(message string) error { return verb.Unconfirmed(reviewAgain(), "%s", message) }

func reviewAgain() string {
	return "review what " + command.Kubectl("k8sconnect", "diff") + " shows now, and confirm that"
}
