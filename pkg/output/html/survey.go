package html

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// NewSurvey returns a survey of owners as one HTML file.
func NewSurvey(b output.Base) output.Results {
	return output.Printed(b, func(s event.Surveyed) string { return render(s, b.Now()) })
}

type table struct {
	Name, Note string
	Columns    []column
	Rows       []row
}

type column struct {
	Name   string
	Number bool
}

type row struct {
	// Marked means that the row is about an unexpected manager.
	Marked bool
	Cells  []string
}

// render returns a survey as a page. The page shows everything even if its script does not run.
func render(s event.Surveyed, now time.Time) string {
	title := "Owners of fields" + text.Printable(s.Where)
	var m markup
	m.raw("<!DOCTYPE html>\n")
	m.open("html", "lang", "en")
	head(&m, title, style, script)
	m.raw("\n<body>\n<header>\n")
	m.element("h1", title)
	m.element("p", format.Surveyed(s)+". Written "+format.Stamp(now)+".")
	m.raw(`<label id="filter" hidden>Show rows with <input type="search" autocomplete="off" spellcheck="false"></label>`)
	m.raw("\n</header>\n<main>\n")
	for _, t := range tables(s) {
		t.write(&m)
	}
	m.raw("</main>\n<script>" + script + "</script>\n</body>\n</html>\n")
	return m.b.String()
}

// head sets a content security policy that forbids all requests and allows only the page's own
// scripts and styles, identified by their hashes.
func head(m *markup, title, style, script string) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src " + hash(script) + "; style-src " + hash(style)
	m.raw("\n<head>\n")
	m.open("meta", "charset", "utf-8")
	m.open("meta", "http-equiv", "Content-Security-Policy", "content", policy)
	m.open("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	m.open("meta", "name", "referrer", "content", "no-referrer")
	m.open("link", "rel", "icon", "href", "data:,")
	m.element("title", title)
	m.raw("\n<style>" + style + "</style>\n</head>")
}

func (t table) write(m *markup) {
	m.open("section")
	m.open("h2")
	m.text(t.Name + " ")
	m.element("small", fmt.Sprint(len(t.Rows)))
	m.close("h2")
	if t.Note != "" {
		m.element("p", t.Note)
	}
	m.raw("\n<table>\n<thead><tr>")
	for _, c := range t.Columns {
		m.element("th", c.Name, append([]string{"scope", "col"}, c.class()...)...)
	}
	m.raw("</tr></thead>\n<tbody>\n")
	for _, r := range t.Rows {
		r.write(m, t.Columns)
	}
	m.raw("</tbody>\n</table>\n")
	m.close("section")
	m.raw("\n")
}

func (r row) write(m *markup, columns []column) {
	if r.Marked {
		m.open("tr", "class", "marked")
	} else {
		m.open("tr")
	}
	for i, c := range columns {
		m.element("td", r.Cells[i], append([]string{"data-name", c.Name}, c.class()...)...)
	}
	m.close("tr")
	m.raw("\n")
}

func (c column) class() []string {
	if c.Number {
		return []string{"class", "number"}
	}
	return nil
}

func tables(s event.Surveyed) []table {
	all := []table{managers(s), holdings(s)}
	if len(s.Unexpected) > 0 {
		all[0].Note += " Coloured: a manager that was not expected; its objects are listed below."
		all = append(all, objects("Not expected", "Fields outside the status that belong to unexpected managers.", s.Unexpected))
	}
	if len(s.Leaving) > 0 {
		all = append(all, objects("If they left", "Fields that would have no owner without "+managersText(s.From)+".", s.Leaving))
	}
	if len(s.Unserved) > 0 {
		all = append(all, unserved(s))
	}
	if len(s.Unread) > 0 {
		all = append(all, unread(s))
	}
	return all
}

func managers(s event.Surveyed) table {
	t := table{
		Name: "Managers", Note: "Shared: another manager holds the field, or something below it. Sole: without this manager, the field would have no owner.",
		Columns: []column{{Name: "Manager"}, {"Kinds", true}, {"Objects", true}, {"Fields", true}, {"Shared", true}, {"Sole", true}},
	}
	for _, m := range s.Managers {
		t.Rows = append(t.Rows, row{!m.Expected, append([]string{format.Manager(m.Manager), fmt.Sprint(m.Kinds), fmt.Sprint(m.Objects)}, counts(m.Fields)...)})
	}
	return t
}

func holdings(s event.Surveyed) table {
	t := table{
		Name:    "Managers and kinds",
		Columns: []column{{Name: "Manager"}, {Name: "How"}, {Name: "Kind"}, {"Objects", true}, {"Fields", true}, {"Shared", true}, {"Sole", true}},
	}
	for _, h := range s.Holdings {
		how := h.Owner.Operation
		if h.Owner.Subresource != "" {
			how += " " + h.Owner.Subresource
		}
		cells := []string{format.Manager(h.Owner.Manager), text.Printable(how), format.KindName(h.Kind), fmt.Sprint(h.Objects)}
		t.Rows = append(t.Rows, row{Cells: append(cells, counts(h.Fields)...)})
	}
	return t
}

func objects(name, note string, of []event.ObjectHolding) table {
	t := table{
		Name: name, Note: note,
		Columns: []column{{Name: "Object"}, {Name: "Manager"}, {"Fields", true}, {"Shared", true}, {"Sole", true}, {Name: "Paths"}},
	}
	for _, h := range of {
		paths := make([]string, len(h.Paths))
		for i, path := range h.Paths {
			paths[i] = text.Printable(string(path))
		}
		cells := append([]string{format.Name(h.Ref), format.Manager(h.Manager)}, counts(h.Fields)...)
		t.Rows = append(t.Rows, row{Cells: append(cells, strings.Join(paths, ", "))})
	}
	return t
}

func unserved(s event.Surveyed) table {
	t := table{
		Name: "Owned at versions that are not served", Note: "The next write by another manager drops these owners from the managed fields.",
		Columns: []column{{Name: "Manager"}, {Name: "Version"}, {Name: "Kind"}, {"Objects", true}},
	}
	for _, v := range s.Unserved {
		t.Rows = append(t.Rows, row{Cells: []string{format.Manager(v.Owner.Manager), text.Printable(v.Owner.APIVersion), format.KindName(v.Kind), fmt.Sprint(v.Objects)}})
	}
	return t
}

func unread(s event.Surveyed) table {
	t := table{Name: "Not read", Columns: []column{{Name: "What"}, {Name: "Why"}}}
	for _, u := range s.Unread {
		t.Rows = append(t.Rows, row{Cells: []string{format.Name(u.Ref), text.OneLine(u.Err.Error())}})
	}
	return t
}

func counts(f event.Fields) []string {
	return []string{fmt.Sprint(f.All), fmt.Sprint(f.Shared), fmt.Sprint(f.Sole())}
}

func managersText(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = format.Manager(name)
	}
	return strings.Join(shown, ", ")
}
