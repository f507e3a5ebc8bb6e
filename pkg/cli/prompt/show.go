package prompt

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// shortly says what a question is about: a line for each value, cut to the terminal.
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
		head += ", which changed since your answer"
	}
	owners := format.OwnerList(q.conflict.Owners, d.Now())
	if owners == "" {
		owners = "another manager"
	}
	if q.conflict.SameValue {
		owners += ", " + format.SameValue
	}
	return []string{
		"", head,
		"  " + text.Printable(q.conflict.Path.String()), // Never cut: it is to be copied.
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

func (d *Dialogue) cut(line string) string {
	if width := format.Columns(d.Width); width > 0 {
		return format.Cut(line, width)
	}
	return line
}

// wholly shows both values at full length, and each owner with the time of its last write.
func (d *Dialogue) wholly(q question) []string {
	lines := []string{"  yours"}
	lines = append(lines, whole(q.conflict.Yours, true)...)
	lines = append(lines, "  live")
	lines = append(lines, whole(q.conflict.Live, q.conflict.HasLive)...)
	lines = append(lines, "  owned by")
	for _, o := range q.conflict.Owners {
		line := "    " + format.Owner(o, d.Now())
		if o.Time.IsZero() {
			line += ", at a time that is not known"
		} else {
			line += ", since " + format.Stamp(o.Time)
		}
		lines = append(lines, line)
	}
	if q.refused {
		lines = append(lines, "  the server would refuse your value")
	}
	return lines
}

// whole is a value as YAML, indented.
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

// prompt names what can be answered.
func prompt(q question) string {
	words := "[t]ake, [l]eave, [s]how, [q]uit"
	if q.refused {
		words = "[l]eave, [s]how, [q]uit (the server would refuse your value)"
	}
	if len(q.managers) > 0 && q.number < q.of {
		all := "[ta] take all, [la] leave all"
		if q.refused {
			all = "[la] leave all"
		}
		words += "; of " + q.named() + ": " + all
	}
	return words + ": "
}

// help says what each answer does.
func help(q question) []string {
	var lines []string
	if !q.refused {
		lines = append(lines, "  t, take       your value replaces the live one, and the path is yours")
	}
	lines = append(lines,
		"  l, leave      the live value stays, and the path is its owner's",
		"  s, show       both values at full length, and who set the live one, when",
		"  q, quit       ask no more: what is not decided stays in conflict, and is not written",
	)
	if len(q.managers) == 0 {
		return lines
	}
	alone := q.named() + " alone owns"
	if len(q.managers) > 1 {
		alone = q.named() + " alone own,"
	}
	if !q.refused {
		lines = append(lines, "  ta, take all  this and all that "+alone+" and is contested in this run")
	}
	return append(lines, "  la, leave all the same, left to "+q.named())
}

// named names the managers.
func (q question) named() string {
	return text.Printable(strings.Join(q.managers, " and "))
}
