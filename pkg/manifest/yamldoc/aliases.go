package yamldoc

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
)

const (
	// maxExpansion bounds how much larger its aliases make a document. The API server accepts no
	// object of more than 3 MiB.
	maxExpansion = 4 << 20
	// maxTotal bounds what all aliases of one run expand to.
	maxTotal = 256 << 20
)

// Aliases counts how much larger the aliases make an input than its text. The zero value is ready,
// and safe for concurrent use. With a nil counter each document is bounded, but not their sum.
type Aliases struct{ total atomic.Int64 }

// Admit rejects a document whose aliases make it too large, before any is followed: a few kilobytes
// of text can stand for gigabytes.
func (a *Aliases) Admit(d *Document) error {
	if !bytes.Contains(d.Text, []byte("*")) || !mayAnchor(d.Text) {
		return nil
	}
	var m measure
	m.document(d)
	const hint = "the API server accepts no object of more than 3 MiB: repeat less of it, or write it out as several objects"
	line := d.below(max(m.worst, 1) - 1)
	switch {
	case m.added > maxExpansion:
		return At(line, fmt.Sprintf("aliases (*) would make the document %s larger than its text; the limit is %s",
			size(m.added), size(maxExpansion)), hint)
	case a != nil && a.total.Add(m.added) > maxTotal:
		return At(line, fmt.Sprintf("aliases (*) would make the whole input more than %s larger than its text", size(maxTotal)),
			"split it over several runs")
	}
	return nil
}

// mayAnchor reports whether the text may have an anchor, without which there is no alias.
// Dashboards and CRDs are full of & and *, and measuring them costs as much as reading them. An
// anchor's name has letters, digits, _ and -, and an anchor begins where a token does: after a
// blank, a line break or an indicator.
func mayAnchor(text []byte) bool {
	if bytes.IndexByte(text, 0) >= 0 {
		return true // It is UTF-16, or no text.
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

// size formats a number of bytes in its largest whole unit.
func size(n int64) string {
	const most = 1 << 40 // Beyond that the exact figure does not matter.
	switch {
	case n > most:
		return "more than 1 TiB"
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}

// measure adds up the size of a document with its aliases followed. Each node is measured once, so
// the time is linear in the length of the text.
type measure struct {
	sizes map[*yaml.Node]int64
	added int64
	// worst is the line of the alias that adds most; 0 for none.
	worst int
	most  int64
}

func (m *measure) document(d *Document) {
	top := d.nodes()
	if top == nil {
		// yaml/v2 can rarely read a text that yaml/v3 cannot. In that case, assume that each alias
		// stands for the whole text.
		count := int64(bytes.Count(d.Text, []byte(" *")) + bytes.Count(d.Text, []byte("[*")) + bytes.Count(d.Text, []byte(",*")))
		m.added = count * int64(len(d.Text))
		return
	}
	m.sizes = map[*yaml.Node]int64{}
	m.visit(top)
}

// enormous is where counting stops, low enough that sums of it do not overflow.
const enormous = 1 << 50

// visit returns the size of a node, roughly that of its JSON.
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
