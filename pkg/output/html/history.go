package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewPastChanges returns recorded changes of owners as one HTML file, with a time line for each field.
func NewPastChanges(b output.Base) output.Results {
	return output.Printed(b, func(c event.PastChanges) string {
		return pageOf(past{
			where: c.Where, from: c.From, changes: c.Changes, gaps: c.Coverage.Gaps,
			notes: append(slices.Clone(format.Coverage(c.Coverage, b.Now())), slices.Concat(c.Limits, format.Missing(c.Dropped, c.Lost))...),
		}, b.Now())
	})
}

// NewHistory returns the history of named objects as one HTML file, with a time line for each field.
func NewHistory(b output.Base) output.Results {
	return output.Together(func(all []event.Owned) error {
		var p past
		for _, o := range all {
			p.add(o, b.Now())
		}
		b.Screen.Result(pageOf(p, b.Now()))
		return nil
	})
}

// past is what a page shows.
type past struct {
	// title is "Changes of owners" unless it is set.
	title   string
	where   string
	from    time.Time
	changes []event.ObjectTransition
	gaps    []event.Gap
	notes   []string
	// table is above the time lines; it may be nil.
	table *table
}

func (p *past) add(o event.Owned, now time.Time) {
	name := format.Name(o.Ref)
	if p.where == "" {
		p.where = " of " + name
	} else {
		p.where += ", " + name
	}
	for _, d := range o.Deletions {
		p.notes = append(p.notes, strings.Join(format.DeletionLines(d), "; "))
	}
	h := o.History
	if h == nil {
		return
	}
	if h.Err != nil {
		p.notes = append(p.notes, name+": history not known: "+text.OneLine(h.Err.Error()))
		return
	}
	p.from = h.From
	for _, t := range h.Transitions {
		p.changes = append(p.changes, event.ObjectTransition{Ref: o.Ref, Transition: t})
	}
	p.gaps = append(p.gaps, h.Coverage.Gaps...)
	for _, note := range slices.Concat(format.Coverage(h.Coverage, now), format.Missing(h.Dropped, h.Lost)) {
		p.notes = append(p.notes, name+": "+note)
	}
}

// lane is a field with its changes, the oldest first.
type lane struct {
	ref     object.Ref
	path    string
	changes []event.Transition
}

// lanes returns the fields, those with the newest changes first.
func (p past) lanes() []*lane {
	type field struct {
		ref  object.Ref
		path string
	}
	known := map[field]*lane{}
	var all []*lane
	for _, c := range p.changes {
		key := field{c.Ref, c.Path}
		if known[key] == nil {
			known[key] = &lane{ref: c.Ref, path: c.Path}
			all = append(all, known[key])
		}
		known[key].changes = append(known[key].changes, c.Transition)
	}
	for _, l := range all {
		slices.SortStableFunc(l.changes, func(a, b event.Transition) int { return cmp.Or(a.Last.Compare(b.Last), a.First.Compare(b.First)) })
	}
	slices.SortStableFunc(all, func(a, b *lane) int {
		return b.changes[len(b.changes)-1].Last.Compare(a.changes[len(a.changes)-1].Last)
	})
	return all
}

// colours is the number of managers with a colour of their own.
const colours = 8

// drawing places times and managers on a page.
type drawing struct {
	from, to time.Time
	managers []string
	gaps     []event.Gap
	// marks numbers the changes.
	marks int
}

// x returns the place of a time, in percent of the width.
func (d *drawing) x(at time.Time) float64 {
	whole := d.to.Sub(d.from)
	if whole <= 0 {
		return 0
	}
	return min(100, max(0, 100*float64(at.Sub(d.from))/float64(whole)))
}

func percent(x float64) string { return fmt.Sprintf("%.3f%%", x) }

// class returns the class of the fields of owners. Those of several owners have the first one's.
func (d *drawing) class(owners []managedfields.Owner) string {
	if len(owners) == 0 {
		return "band unowned"
	}
	i := slices.Index(d.managers, owners[0].Manager)
	if i < 0 || i >= colours {
		return "band other"
	}
	return fmt.Sprintf("band m%d", i)
}

func pageOf(p past, now time.Time) string {
	lanes := p.lanes()
	d := &drawing{from: p.from, to: now, gaps: p.gaps}
	for _, l := range lanes {
		for _, c := range l.changes {
			if d.from.IsZero() || c.First.Before(d.from) {
				d.from = c.First
			}
			for _, o := range slices.Concat(c.From, c.To) {
				if !slices.Contains(d.managers, o.Manager) {
					d.managers = append(d.managers, o.Manager)
				}
			}
		}
	}
	if p.from.IsZero() { // The owner before the first change is visible, too.
		d.from = d.from.Add(-now.Sub(d.from) / 20)
	}
	title := cmp.Or(p.title, "Changes of owners") + text.Printable(p.where)
	var m markup
	m.raw("<!DOCTYPE html>\n")
	m.open("html", "lang", "en")
	head(&m, title, style+historyStyle, historyScript)
	m.raw("\n<body>\n<header>\n")
	m.element("h1", title)
	m.element("p", fmt.Sprintf("%s of %s, from %s to %s.", text.Count(len(p.changes), "change"), text.Count(len(lanes), "field"), format.Stamp(d.from), format.Stamp(now)))
	for _, note := range p.notes {
		m.element("p", text.Printable(note), "class", "note")
	}
	m.raw(`<label id="filter" hidden>Show fields with <input type="search" autocomplete="off" spellcheck="false"> <small id="shown" aria-live="polite"></small></label>`)
	d.legend(&m)
	m.raw("\n</header>\n<main>\n")
	if p.table != nil {
		p.table.write(&m)
	}
	for _, l := range lanes {
		d.lane(&m, l)
	}
	m.raw("</main>\n<script>" + historyScript + "</script>\n</body>\n</html>\n")
	return m.b.String()
}

// legend names the colours, and defines the patterns.
func (d *drawing) legend(m *markup) {
	m.raw(`<svg width="0" height="0" aria-hidden="true"><defs>` +
		`<pattern id="gap" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="paper" width="6" height="6"/><rect class="line" width="2" height="6"/></pattern>` +
		`<pattern id="often" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="paper" width="2" height="4"/></pattern>` +
		`</defs></svg>` + "\n")
	m.open("ul", "class", "legend")
	item := func(class, name string) {
		m.open("li")
		m.open("svg", "width", "16", "height", "12", "aria-hidden", "true")
		m.open("rect", "class", class, "x", "1", "y", "1", "width", "14", "height", "10")
		m.raw("</rect></svg> ")
		m.text(name)
		m.close("li")
	}
	for i, name := range d.managers[:min(len(d.managers), colours)] {
		item(fmt.Sprintf("band m%d", i), format.Manager(name))
	}
	if len(d.managers) > colours {
		item("band other", "other managers")
	}
	item("band unowned", "no owner")
	if len(d.gaps) > 0 {
		item("gap", "not watched")
	}
	m.close("ul")
}

// lane draws the time line of one field, with a table of the same changes below: a mark links to its row, so
// that the page can be used without a mouse and without seeing the picture.
func (d *drawing) lane(m *markup, l *lane) {
	m.raw("<section>\n")
	m.open("h2")
	m.text(format.Name(l.ref) + "  ")
	m.element("code", text.Printable(l.path))
	m.close("h2")
	m.raw("\n")
	m.open("svg", "class", "lane", "role", "group", "aria-label", "Time line of "+text.Printable(l.path), "width", "100%", "height", "34")
	at := d.from
	for i, c := range l.changes {
		if i == 0 {
			d.band(m, c.From, at, c.First)
		}
		if c.First.Before(c.Last) {
			d.band(m, c.To, c.First, c.Last)
			d.rect(m, "often", fmt.Sprintf("%d times, from %s to %s", c.Count, format.Stamp(c.First), format.Stamp(c.Last)), c.First, c.Last)
		}
		until := d.to
		if i+1 < len(l.changes) {
			until = l.changes[i+1].First
		}
		d.band(m, c.To, c.Last, until)
	}
	for _, gap := range d.gaps {
		d.rect(m, "gap", "Not watched from "+format.Stamp(gap.From)+" to "+format.Stamp(gap.To), gap.From, gap.To)
	}
	first := d.marks
	for _, c := range l.changes {
		d.marks++
		m.open("a", "href", fmt.Sprintf("#c%d", d.marks), "aria-label", format.Stamp(c.Last)+": "+format.TransitionOwners(c))
		m.open("circle", "class", markClass(c), "cx", percent(d.x(c.Last)), "cy", "17", "r", "6")
		m.raw("</circle>")
		m.close("a")
	}
	m.raw("</svg>\n")
	d.axis(m)
	m.raw("<table>\n<thead><tr>")
	names := []string{"Time", "From", "To", "Value", "User", "How"}
	for _, name := range names {
		m.element("th", name, "scope", "col")
	}
	m.raw("</tr></thead>\n<tbody>\n")
	for i, c := range l.changes {
		m.open("tr", "id", fmt.Sprintf("c%d", first+i+1), "tabindex", "-1", "class", rowClass(c))
		cells := format.TransitionCells(c)
		if c.Count > 1 {
			cells[0] += fmt.Sprintf(", %d times since %s", c.Count, format.Stamp(c.First))
		}
		if c.Gap {
			cells[5] += ", found after an unwatched period"
		}
		for j, cell := range cells {
			m.element("td", cell, "data-name", names[j])
		}
		m.raw("</tr>\n")
	}
	m.raw("</tbody>\n</table>\n</section>\n")
}

func markClass(c event.Transition) string {
	if c.Forced || c.Gap {
		return "mark warned"
	}
	return "mark"
}

func rowClass(c event.Transition) string {
	if c.Forced || c.Gap {
		return "marked"
	}
	return "plain"
}

func (d *drawing) band(m *markup, owners []managedfields.Owner, from, to time.Time) {
	who := "No owner"
	if len(owners) > 0 {
		who = format.OwnerList(owners, time.Time{})
	}
	d.rect(m, d.class(owners), who+", from "+format.Stamp(from)+" to "+format.Stamp(to), from, to)
}

func (d *drawing) rect(m *markup, class, title string, from, to time.Time) {
	x, end := d.x(from), d.x(to)
	if end <= x {
		return
	}
	m.open("rect", "class", class, "x", percent(x), "y", "8", "width", percent(end-x), "height", "18")
	m.element("title", title)
	m.raw("</rect>")
}

// axis writes the times at the ends and in the middle.
func (d *drawing) axis(m *markup) {
	m.open("p", "class", "axis", "aria-hidden", "true")
	for _, share := range []int64{0, 1, 2} {
		m.element("span", format.Stamp(d.from.Add(time.Duration(share)*d.to.Sub(d.from)/2)))
	}
	m.close("p")
	m.raw("\n")
}

// NewFights returns fights as one HTML file: a table of the objects, and a time line for each field.
func NewFights(b output.Base) output.Results {
	return output.Printed(b, func(f event.Fights) string {
		now := b.Now()
		table := fought(f, now)
		p := past{title: "Fights over fields", from: now.Add(-f.For), notes: format.Fights(f), table: &table}
		for _, one := range f.Found {
			for _, path := range one.Paths {
				for _, turn := range path.Turns {
					p.changes = append(p.changes, event.ObjectTransition{Ref: one.Ref, Transition: turn})
				}
			}
		}
		return pageOf(p, now)
	})
}

func fought(f event.Fights, now time.Time) table {
	t := table{Name: "Fights", Columns: []column{{Name: "Object"}, {"Writes a minute", true}, {Name: "Paths, writers and commands"}}}
	for _, one := range f.Found {
		t.Rows = append(t.Rows, row{Cells: []string{
			format.FightName(one), fmt.Sprint(format.PerMinute(one.Writes, f.For)), strings.Join(format.FightLines(one, now), "; "),
		}})
	}
	return t
}
