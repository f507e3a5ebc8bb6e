package yamldoc

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
)

const (
	// maxExpansion limits how much a document may grow when its aliases are expanded. The API
	// server accepts requests of up to 3 MiB.
	maxExpansion = 4 << 20
	// maxTotal limits the expansion of all aliases in one run.
	maxTotal = 256 << 20
)

// Aliases limits the expansion of aliases across all documents of an input. The zero value is ready
// to use and safe for concurrent use. A nil *Aliases limits each document only on its own.
type Aliases struct{ total atomic.Int64 }

// Admit rejects a document, before its aliases are expanded, if the expansion would make the
// document or the whole input too large. A few kilobytes of text can grow to gigabytes.
func (a *Aliases) Admit(d *Document) error {
	if !bytes.Contains(d.Text, []byte("*")) || !mayAnchor(d.Text) {
		return nil
	}
	var m measure
	m.document(d)
	const hint = "the API server accepts requests of up to 3 MiB: use fewer aliases, or split the object into several"
	line := d.lineBelow(max(m.worst, 1) - 1)
	switch {
	case m.added > maxExpansion:
		return At(line, fmt.Sprintf("aliases (*) would make the document %s larger than its text; the limit is %s",
			size(m.added), size(maxExpansion)), hint)
	case a != nil && a.total.Add(m.added) > maxTotal:
		return At(line, fmt.Sprintf("aliases (*) would make the whole input more than %s larger than its text", size(maxTotal)),
			"split the input across several runs")
	}
	return nil
}

// mayAnchor reports whether a text may contain an anchor. Text without anchors need not be
// measured, and measuring costs as much as decoding. Dashboards and CRDs are full of & and * that
// have nothing to do with anchors or aliases. So mayAnchor looks for an & that begins the text or
// follows white space, an indicator or a non-ASCII character, and that is followed by a letter,
// digit, _ or -.
func mayAnchor(text []byte) bool {
	if bytes.IndexByte(text, 0) >= 0 {
		return true // UTF-16 or binary
	}
	for i, c := range text {
		if c != '&' || i+1 == len(text) {
			continue
		}
		next := text[i+1]
		named := next == '_' || next == '-' || '0' <= next && next <= '9' || 'a' <= next|0x20 && next|0x20 <= 'z'
		if named && (i == 0 || text[i-1] >= 0x80 || bytes.IndexByte([]byte(" \t\r\n[{,:-?"), text[i-1]) >= 0) {
			return true
		}
	}
	return false
}

func size(n int64) string {
	const most = 1 << 40
	switch {
	case n > most:
		return "more than 1 TiB"
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}

// measure computes the size of a document with all aliases expanded. It visits each node once.
type measure struct {
	sizes map[*yaml.Node]int64
	added int64
	worst int
	most  int64
}

func (m *measure) document(d *Document) {
	top := d.nodes()
	if top == nil {
		// yaml/v3 rejects a few documents that yaml/v2 accepts. For these, assume that each alias
		// expands to the whole text.
		count := int64(bytes.Count(d.Text, []byte(" *")) + bytes.Count(d.Text, []byte("[*")) + bytes.Count(d.Text, []byte(",*")))
		m.added = count * int64(len(d.Text))
		return
	}
	m.sizes = map[*yaml.Node]int64{}
	m.visit(top)
}

// enormous is the maximum size. Adding such sizes does not overflow.
const enormous = 1 << 50

// visit returns the approximate size of a node as JSON.
func (m *measure) visit(n *yaml.Node) int64 {
	const around = 4 // quotes, colon, comma
	if known, ok := m.sizes[n]; ok {
		return known
	}
	m.sizes[n] = enormous // The node may contain itself.
	if n.Kind == yaml.AliasNode {
		below := m.visit(n.Alias)
		m.sizes[n] = below
		m.added = min(m.added+below, enormous)
		if below > m.most {
			m.most, m.worst = below, n.Line
		}
		return below
	}
	total := int64(len(n.Value) + around)
	for _, child := range n.Content {
		total = min(total+m.visit(child), enormous)
	}
	m.sizes[n] = total
	return total
}
