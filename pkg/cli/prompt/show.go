package prompt

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// shortly shortens each value to fit on one line of the terminal.
func (d *Dialogue) shortly(q question) []string {
	head := fmt.Sprintf("conflict %d of %d", q.number, q.of)
	switch {
	case q.of == 1:
		head = "conflict"
	case q.inPhase:
		head += " in this phase"
	}
	head += ": " + format.Name(q.ref)
	if d.wasAnswered(q) {
		head += ", which has changed since your answer"
	}
	owners := format.OwnerList(q.conflict.Owners, d.Now())
	if owners == "" {
		owners = "another manager"
	}
	if q.conflict.SameValue {
		owners += ", " + format.SameValue
	}
	return []string{
		"", format.Fit("", head, d.Width),
		"  " + text.Printable(q.conflict.Path.String()), // Users copy it, so it is never shortened.
		d.cut("    yours  " + format.Value(q.conflict.Yours)),
		d.cut("    live   " + live(q.conflict)),
		d.cut("    owner  " + owners),
	}
}

func live(c managedfields.Conflict) string {
	if !c.HasLive {
		return "none"
	}
	return format.Value(c.Live)
}

// fit wraps lines between words, but not within an option such as "[ta] take all".
func fit(lines string, options []string, width int) string {
	const tied = "\u00a0"
	for _, option := range options {
		lines = strings.ReplaceAll(lines, option, strings.ReplaceAll(option, " ", tied))
	}
	wrapped := strings.Join(format.Wrap(strings.Split(lines, "\n"), width), "\n")
	return strings.ReplaceAll(wrapped, tied, " ")
}

func (d *Dialogue) cut(line string) string {
	if width := format.Columns(d.Width); width > 0 {
		return format.Cut(line, width)
	}
	return line
}

// wholly shows both values in full, and each owner with the time of its last write.
func (d *Dialogue) wholly(q question) []string {
	lines := []string{"  yours"}
	lines = append(lines, whole(q.conflict.Yours, true)...)
	lines = append(lines, "  live")
	lines = append(lines, whole(q.conflict.Live, q.conflict.HasLive)...)
	lines = append(lines, "  owned by")
	for _, o := range q.conflict.Owners {
		line := "    " + format.Owner(o, d.Now())
		if o.Time.IsZero() {
			line += ", at an unknown time"
		} else {
			line += ", since " + format.Stamp(o.Time)
		}
		lines = append(lines, format.Fit("    ", strings.TrimSpace(line), d.Width))
	}
	if q.refused {
		lines = append(lines, "  the server would refuse your value")
	}
	if q.unleavable {
		lines = append(lines, "  "+cannotBeLeft)
	}
	return lines
}

func whole(v any, has bool) []string {
	if !has {
		return []string{"    none"}
	}
	written, err := yaml.Marshal(v)
	if err != nil {
		return []string{"    " + format.Value(v)}
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(written), "\n"), "\n") {
		lines = append(lines, "    "+text.Printable(line))
	}
	return lines
}

// prompt offers only the answers that would settle the conflict, and explains why one is missing.
func (d *Dialogue) prompt(q question) string {
	var words, all, not []string
	if q.offers(apply.Take) {
		words, all = append(words, "[t]ake"), append(all, "[ta] take all")
	} else {
		not = append(not, "the server would refuse your value")
	}
	if q.offers(apply.Leave) {
		words, all = append(words, "[l]eave"), append(all, "[la] leave all")
		if q.places.usual() != nowhere {
			words = append(words, "[al]ways leave")
		}
	} else {
		not = append(not, cannotBeLeft)
	}
	words = append(words, "[s]how", "[q]uit")
	line := strings.Join(words, ", ")
	if len(not) > 0 {
		line += " (" + strings.Join(not, "; ") + ")"
	}
	if len(q.managers) > 0 && q.number < q.of && len(all) > 0 {
		more := "for all fields of " + q.named() + ": " + strings.Join(all, ", ")
		between := "; "
		if width := format.Columns(d.Width); width > 0 && format.Cells(line+between+more+": ") >= width {
			between = ";\n"
		}
		line += between + more
	}
	// The answer begins on the same line.
	return fit(line+":", append(words, all...), format.Within(d.Width, " ")) + " "
}

const cannotBeLeft = "a path at another API version cannot be left to its owner; apply at that version"

// help explains the answers in two columns.
func (d *Dialogue) help(q question) []string {
	const column = "                "
	var out []string
	for _, line := range help(q) {
		label, rest := line[:len(column)], []string{line[len(column):]}
		for i, part := range format.Wrap(rest, format.Within(d.Width, column)) {
			if i > 0 {
				label = column
			}
			out = append(out, label+part)
		}
	}
	return out
}

func help(q question) []string {
	var lines []string
	if q.offers(apply.Take) {
		lines = append(lines, "  t, take       your value replaces the live one, and you own the path")
	}
	if q.offers(apply.Leave) {
		lines = append(lines, "  l, leave      the live value stays, and its owner keeps the path")
		lines = append(lines, q.alwaysHelp()...)
	}
	lines = append(lines,
		"  s, show       both values in full, and who set the live one and when",
		"  q, quit       stop here: undecided paths stay in conflict and are not written",
	)
	if len(q.managers) == 0 {
		return lines
	}
	alone := q.named() + " owns alone"
	if len(q.managers) > 1 {
		alone = q.named() + " own together"
	}
	if q.offers(apply.Take) {
		lines = append(lines, "  ta, take all  this and every other contested path that "+alone)
	}
	if q.offers(apply.Leave) {
		lines = append(lines, "  la, leave all this and every other contested path that "+alone)
	}
	return lines
}

func (q question) named() string {
	return text.Printable(strings.Join(q.managers, " and "))
}
