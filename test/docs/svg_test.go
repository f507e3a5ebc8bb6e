package docs

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Theme contains a picture's colours: background, text, and the terminal's 16.
type Theme struct {
	Name             string
	Background, Text string
	Colors           [16]string
}

// Themes contains the two themes in which each picture is drawn. Their colours are GitHub's, so
// that the text is legible on its pages.
func Themes() []Theme {
	return []Theme{
		{
			Name: "light", Background: "#f6f8fa", Text: "#1f2328",
			Colors: [16]string{
				"#24292f", "#cf222e", "#116329", "#7d4e00", "#0550ae", "#8250df", "#1b7c83", "#57606a",
				"#57606a", "#a40e26", "#1a7f37", "#633c01", "#0969da", "#6639ba", "#3192aa", "#6e7781",
			},
		},
		{
			Name: "dark", Background: "#151b23", Text: "#e6edf3",
			Colors: [16]string{
				"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
				"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
			},
		},
	}
}

// The size of a character. Each piece of text sets its length, so that columns are aligned in any
// font.
const (
	advance, rise = 8.4, 20
	margin        = 16
)

// SVG draws the lines of a terminal.
func SVG(title string, lines [][]Span, theme Theme) string {
	columns := 0
	for _, line := range lines {
		columns = max(columns, length(line))
	}
	width, height := float64(columns)*advance+2*margin, len(lines)*rise+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, escaped(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", theme.Background)
	fmt.Fprintf(&b, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="%s" xml:space="preserve" style="white-space:pre">`+"\n", theme.Text)
	for i, line := range lines {
		column := 0
		for _, s := range line {
			text := strings.TrimLeft(s.Text, " ")
			at := column + len(s.Text) - len(text)
			column += length([]Span{s})
			if text = strings.TrimRight(text, " "); text == "" {
				continue
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
				margin+float64(at)*advance, margin+i*rise+rise*3/4, float64(len([]rune(text)))*advance, s.attributes(theme), escaped(text))
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func (s Span) attributes(theme Theme) string {
	var out string
	if s.Color > 0 {
		out += fmt.Sprintf(` fill="%s"`, theme.Colors[s.Color-1])
	}
	if s.Bold {
		out += ` font-weight="bold"`
	}
	if s.Faint {
		out += ` opacity="0.7"`
	}
	if s.Lined {
		out += ` text-decoration="underline"`
	}
	return out
}

func length(line []Span) int {
	n := 0
	for _, s := range line {
		n += len([]rune(s.Text))
	}
	return n
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// Words returns the texts of a picture, piece by piece.
func Words(svg string) []string {
	var out []string
	decoder := xml.NewDecoder(strings.NewReader(svg))
	inText := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return out
		}
		switch t := token.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				out = append(out, string(t))
			}
		}
	}
}
