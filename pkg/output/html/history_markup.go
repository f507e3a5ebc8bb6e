package html

// The colours have a contrast of at least 3 to 1 to the paper, in light and dark.
const historyStyle = `
:root { --paper: #fff; --ink: #1b1f24; --m0: #1f6feb; --m1: #a04a00; --m2: #1a7f37; --m3: #8250df; --m4: #b3306f; --m5: #0b7285; --m6: #6e5e00; --m7: #a40e26; --other: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e6e8eb; --m0: #6cb0ff; --m1: #ffa657; --m2: #56d364; --m3: #c9a6ff; --m4: #ff8ac6; --m5: #4fd1e5; --m6: #e3c94a; --m7: #ff7b72; --other: #adb5bd; }
}
body { background: var(--paper); color: var(--ink); }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.note { border-left: .25rem solid var(--m1); padding-left: .6rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .6rem 0; }
th { white-space: nowrap; overflow-wrap: normal; }
.axis + table { table-layout: fixed; }
.axis + table th:nth-child(1) { width: 22%; } .axis + table th:nth-child(2), .axis + table th:nth-child(3) { width: 17%; } .axis + table th:nth-child(4) { width: 13%; } .axis + table th:nth-child(5) { width: 10%; }
@media (max-width: 40rem) { thead th { display: none; } }
.lane { display: block; overflow: visible; }
.m0 { fill: var(--m0); } .m1 { fill: var(--m1); } .m2 { fill: var(--m2); } .m3 { fill: var(--m3); }
.m4 { fill: var(--m4); } .m5 { fill: var(--m5); } .m6 { fill: var(--m6); } .m7 { fill: var(--m7); }
.other { fill: var(--other); }
.unowned { fill: none; stroke: var(--ink); stroke-dasharray: 4 3; }
.gap { fill: url(#gap); stroke: var(--ink); }
.often { fill: url(#often); }
.paper { fill: var(--paper); }
.line { fill: var(--ink); }
.mark { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
.warned { fill: var(--ink); }
a:focus-visible { outline: none; }
a:focus-visible .mark { stroke: var(--m0); stroke-width: 5; }
tr:target, tr:focus { outline: 2px solid var(--m0); }
.axis { display: flex; justify-content: space-between; font-size: .8rem; margin: 0; }
input { background: var(--paper); color: var(--ink); border: 1px solid var(--other); }
`

// historyScript hides the fields that do not contain the typed words, and moves between changes with
// the arrow keys. It treats the page's content as plain text.
const historyScript = `
'use strict';
const filter = document.getElementById('filter');
const input = filter.querySelector('input');
const sections = [...document.querySelectorAll('section')];
filter.hidden = false;
const show = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(word => word);
  let shown = 0;
  for (const section of sections) {
    const text = section.textContent.toLowerCase();
    section.hidden = !words.every(word => text.includes(word));
    if (!section.hidden) shown++;
  }
  document.getElementById('shown').textContent = shown + ' of ' + sections.length;
};
input.addEventListener('input', show);
show();
document.addEventListener('keydown', event => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
    return;
  }
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const mark = document.activeElement.closest('svg a');
  if (!step || !mark) return;
  event.preventDefault();
  const marks = [...mark.closest('svg').querySelectorAll('a')];
  marks[(marks.indexOf(mark) + step + marks.length) % marks.length].focus();
});
addEventListener('hashchange', () => {
  const row = document.getElementById(location.hash.slice(1));
  if (row) row.focus();
});
`
