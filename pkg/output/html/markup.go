package html

import (
	"html"
	"strings"
)

// markup writes elements. It escapes all text and attribute values.
//
// It replaces html/template, which would make the program 10 MB larger, because the linker keeps
// every method of every type in a program that can execute a template (docs/design/releases.md).
type markup struct{ b strings.Builder }

func (m *markup) open(name string, attributes ...string) {
	m.b.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		m.b.WriteString(" " + attributes[i] + `="` + html.EscapeString(attributes[i+1]) + `"`)
	}
	m.b.WriteString(">")
}

func (m *markup) text(s string) { m.b.WriteString(html.EscapeString(s)) }

func (m *markup) close(name string) { m.b.WriteString("</" + name + ">") }

func (m *markup) element(name, text string, attributes ...string) {
	m.open(name, attributes...)
	m.text(text)
	m.close(name)
}

// raw writes markup, styles or scripts without escaping them.
func (m *markup) raw(constant string) { m.b.WriteString(constant) }

const style = `
:root { color-scheme: light dark; --line: #8884; --mark: #f5a62333; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .3rem; }
small { font-weight: normal; opacity: .7; }
p { margin: .3rem 0; }
input { font: inherit; padding: .3rem .5rem; width: 18rem; max-width: 100%; box-sizing: border-box; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
th button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \2191"; }
th[aria-sort=descending] button::after { content: " \2193"; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.marked { background: var(--mark); }
[hidden] { display: none; }
@media (max-width: 40rem) {
  body { margin: .8rem auto; }
  thead th { display: inline-block; border: 0; }
  tr, td { display: block; text-align: left; }
  tbody tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td { border: 0; padding: 0; white-space: normal; }
  td::before { content: attr(data-name) ": "; opacity: .7; }
  tr[hidden] { display: none; }
  td.number { display: inline-block; text-align: left; margin-right: .8rem; }
}
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; }
  #filter { display: none; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
}
`

// script sorts a table by the column whose heading is clicked, and hides rows that do not contain
// the typed words. It treats cell contents as plain text.
const script = `
'use strict';
for (const table of document.querySelectorAll('table')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const number = head.classList.contains('number');
      const before = head.getAttribute('aria-sort');
      const up = before ? before === 'descending' : !number;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const key = row => row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) => {
        const order = number ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b));
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
}
const filter = document.getElementById('filter');
filter.hidden = false;
filter.querySelector('input').addEventListener('input', event => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(word => word);
  for (const section of document.querySelectorAll('section')) {
    let shown = 0;
    for (const row of section.querySelector('tbody').rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      if (!row.hidden) shown++;
    }
    section.querySelector('small').textContent = shown;
  }
});
`
