package docs

import (
	"strconv"
	"strings"
)

// Style is the style of a piece of text in a terminal.
type Style struct {
	Color              int // 1 to 8: black, red, … white; 9 to 16: bright; 0: default
	Bold, Faint, Lined bool
}

// Span is text with one style.
type Span struct {
	Style
	Text string
}

type cell struct {
	Style
	r rune
}

// Screen returns the lines that a terminal shows for an output. It supports what command line
// programs use: moving to the start of a line and up, erasing, colours.
func Screen(sent string) [][]Span {
	rows := [][]cell{nil}
	var style Style
	line, column := 0, 0
	runes := []rune(sent)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case '\n':
			if line, column = line+1, 0; line == len(rows) {
				rows = append(rows, nil)
			}
		case '\r':
			column = 0
		case '\b':
			column = max(column-1, 0)
		case '\x1b':
			end := i + 1
			if end < len(runes) && runes[end] == '[' {
				for end++; end < len(runes) && (runes[end] < '@' || runes[end] > '~'); end++ {
				}
			}
			if end == len(runes) {
				break
			}
			arguments := string(runes[min(i+2, end):end])
			switch runes[end] {
			case 'm':
				style = style.with(arguments)
			case 'A':
				n, _ := strconv.Atoi(arguments)
				line = max(0, line-max(1, n))
			case 'J':
				rows = rows[:line+1]
				rows[line] = rows[line][:min(column, len(rows[line]))]
			case 'K':
				rows[line] = rows[line][:min(column, len(rows[line]))]
			}
			i = end
		default:
			for len(rows[line]) <= column {
				rows[line] = append(rows[line], cell{r: ' '})
			}
			rows[line][column] = cell{Style: style, r: r}
			column++
		}
	}
	if last := len(rows) - 1; len(rows[last]) == 0 {
		rows = rows[:last]
	}
	lines := make([][]Span, len(rows))
	for i, row := range rows {
		lines[i] = spans(row)
	}
	return lines
}

func (s Style) with(arguments string) Style {
	for argument := range strings.SplitSeq(arguments, ";") {
		n, _ := strconv.Atoi(argument) // an empty parameter is 0
		switch {
		case n == 0:
			s = Style{}
		case n == 1:
			s.Bold = true
		case n == 2:
			s.Faint = true
		case n == 4:
			s.Lined = true
		case n == 22:
			s.Bold, s.Faint = false, false
		case n == 24:
			s.Lined = false
		case n >= 30 && n <= 37:
			s.Color = n - 29
		case n == 39:
			s.Color = 0
		case n >= 90 && n <= 97:
			s.Color = n - 81
		}
	}
	return s
}

func spans(row []cell) []Span {
	for len(row) > 0 && row[len(row)-1].r == ' ' {
		row = row[:len(row)-1]
	}
	var out []Span
	for _, c := range row {
		if last := len(out) - 1; last < 0 || out[last].Style != c.Style {
			out = append(out, Span{Style: c.Style})
		}
		out[len(out)-1].Text += string(c.r)
	}
	return out
}

// Plain returns the lines' text without styles.
func Plain(lines [][]Span) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		for _, s := range line {
			out[i] += s.Text
		}
	}
	return out
}
