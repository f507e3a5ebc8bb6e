package yamldoc

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// blockText is a text in block style, such as the value of a ConfigMap's key after "nginx.conf: |".
type blockText struct {
	style byte
	// digit is the indentation indicator, or 0, and chomp the chomping indicator, or "".
	// https://yaml.org/spec/1.2.2/#81-block-scalar-styles
	digit int
	chomp string
	// rest is what follows the indicators on their line, such as a comment.
	rest string
	// indent is the indentation of the lines; 0 if there are none. last is the last line with content.
	indent, last int
	lines        []string
}

// blockTextAt returns a node's text in block style. above is the indentation of the map or list that
// contains the node.
func (e editor) blockTextAt(n *yaml.Node, above int) (blockText, bool) {
	at := e.offset(n)
	head := e.upTo(at, e.start(n.Line+1))
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || head == "" || head[0] != '|' && head[0] != '>' {
		return blockText{}, false
	}
	b := blockText{style: head[0], last: n.Line}
	i := 1
	for ; i < len(head) && strings.IndexByte("+-123456789", head[i]) >= 0; i++ {
		if head[i] == '+' || head[i] == '-' {
			b.chomp = head[i : i+1]
		} else {
			b.digit = int(head[i] - '0')
		}
	}
	if b.rest = head[i:]; b.digit > 0 {
		b.indent = above + b.digit
	}
	var blank []string
	for line := n.Line + 1; line < len(e.lines); line++ {
		text := e.line(line)
		spaces := len(text) - len(strings.TrimLeft(text, " "))
		isBlank := spaces == len(text)
		if !isBlank && b.indent == 0 && spaces > above {
			b.indent = spaces
		}
		switch {
		case isBlank && (b.indent == 0 || spaces <= b.indent):
			if blank = append(blank, ""); b.indent == 0 && spaces > above {
				b.last = line // The text begins with a line of spaces, or is nothing else.
			}
			if b.chomp != "+" {
				continue
			}
		case b.indent == 0 || spaces < b.indent:
			return b, true
		default:
			blank = append(blank, text[b.indent:])
		}
		b.lines, blank, b.last = append(b.lines, blank...), nil, line
	}
	return b, true
}

// setText proposes edits that write a text in block style in place of a scalar: in the style of a text that
// already has one, or literally.
func (e editor) setText(n *yaml.Node, above int, text string) []edit {
	const step = 2
	at := e.offset(n)
	old, isBlock := e.blockTextAt(n, above)
	end := e.start(old.last + 1)
	switch {
	case !isBlock && strings.Count(text, "\n") < 2: // In quotes, a text of one line is as readable.
		return nil
	case !isBlock:
		scalar := e.scalarEnd(n)
		end = len(e.text)
		if i := bytes.IndexByte(e.text[scalar:], '\n'); i >= 0 {
			end = scalar + i + 1
		}
		old = blockText{style: '|', rest: e.upTo(scalar, end)}
	}
	if old.indent == 0 {
		old.indent = above + step
	}
	ends := []string{e.eol, ""}
	if end > 0 && e.text[end-1] != '\n' {
		ends = []string{"", e.eol}
	}
	var edits []edit
	add := func(length int, head string, lines []string) {
		for _, final := range ends {
			edits = append(edits, edit{at: at, length: length, insert: strings.Join(append([]string{head}, lines...), e.eol) + final})
		}
	}
	for _, b := range old.written(text, above) {
		length := end - at
		if b.chomp == "+" { // The blank lines below would be a part of the text.
			length = e.belowBlank(old.last, end) - at
		}
		add(length, b.head(), b.lines)
	}
	if isBlock { // A text with a carriage return, for example, needs quotes.
		add(end-at, inline(text)+old.rest, nil)
	}
	return edits
}

// belowBlank returns the place below the blank lines that follow a line, or the given end.
func (e editor) belowBlank(line, end int) int {
	if line == 0 {
		return end
	}
	for line+1 < len(e.lines) && strings.TrimSpace(e.line(line+1)) == "" {
		line++
		end = e.start(line + 1)
	}
	return end
}

// upTo returns the text between two places without the end of its line.
func (e editor) upTo(from, to int) string {
	return strings.TrimRight(string(e.text[from:max(from, to)]), "\r\n")
}

func (b blockText) head() string {
	digit := ""
	if b.digit > 0 {
		digit = strconv.Itoa(b.digit)
	}
	return string(b.style) + digit + b.chomp + b.rest
}

// written proposes forms of another text, in the style of b if possible.
func (b blockText) written(text string, above int) []blockText {
	var all []blockText
	body := strings.TrimRight(text, "\n")
	breaks := len(text) - len(body)
	var lines []string
	if body != "" {
		lines = strings.Split(body, "\n")
	}
	chomps := []string{"+"}
	switch {
	case breaks == 0:
		chomps = []string{"-"}
	case breaks == 1 && b.chomp == "+":
		chomps = []string{"+", ""}
	case breaks == 1:
		chomps = []string{""}
	}
	styles := []byte{'|'}
	if b.style == '>' {
		styles = []byte{'>', '|'}
	}
	for _, style := range styles {
		shown := lines
		if style == '>' {
			var ok bool
			if shown, ok = b.folded(lines); !ok {
				continue
			}
		}
		for _, chomp := range chomps {
			out := blockText{style: style, chomp: chomp, rest: b.rest, digit: b.digit, indent: b.indent}
			if first := firstOf(lines); out.digit == 0 && (strings.HasPrefix(first, " ") || strings.HasPrefix(first, "\t")) {
				if out.digit = out.indent - above; out.digit > 9 {
					out.digit, out.indent = 2, above+2
				}
			}
			for _, line := range shown {
				if line != "" {
					line = strings.Repeat(" ", out.indent) + line
				}
				out.lines = append(out.lines, line)
			}
			if chomp == "+" {
				blank := breaks - 1
				if body == "" {
					blank++
				}
				out.lines = append(out.lines, slices.Repeat([]string{""}, blank)...)
			}
			all = append(all, out)
		}
	}
	return all
}

// firstOf returns the first line that is not empty.
func firstOf(lines []string) string {
	for _, line := range lines {
		if line != "" {
			return line
		}
	}
	return ""
}

// folded returns lines in folded style. A line that the text already has keeps its breaks. Lines that begin
// with a space are not folded by YAML, so folded returns false.
func (b blockText) folded(lines []string) ([]string, bool) {
	broken := map[string][]string{}
	var paragraph []string
	for _, line := range append(slices.Clone(b.lines), "") {
		if line != "" {
			paragraph = append(paragraph, line)
			continue
		}
		broken[strings.Join(paragraph, " ")], paragraph = paragraph, nil
	}
	var out []string
	for i, line := range lines {
		switch parts := broken[line]; {
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			return nil, false
		case line == "":
			out = append(out, "")
			continue
		case len(parts) > 0:
			out = append(out, parts...)
		default:
			out = append(out, line)
		}
		if i+1 < len(lines) {
			out = append(out, "")
		}
	}
	return out, true
}
