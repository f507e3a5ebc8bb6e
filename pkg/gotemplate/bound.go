package gotemplate

import (
	"fmt"
	"io"
	"strings"
)

// MaxText is how much text one execution may produce: its output and the results of its
// functions together. An object has a few megabytes at most; text produced in a loop has no
// natural end.
const MaxText = 64 << 20

// ErrTooMuch says that a template produces more text than it may.
var ErrTooMuch = fmt.Errorf("the template produces more than %d MiB of text from one object", MaxText>>20)

// budget is the text that an execution may still produce. It is charged before a function
// runs, because fmt holds all of a result in memory before any of it is written.
type budget struct{ left int }

// room makes sure that something of at most size bytes can be made.
func (b *budget) room(size int) error {
	if size < 0 || size > b.left {
		return ErrTooMuch
	}
	return nil
}

func (b *budget) spend(size int) error {
	if err := b.room(size); err != nil {
		return err
	}
	b.left -= size
	return nil
}

// writer charges the budget for what is written.
type writer struct {
	out    io.Writer
	budget *budget
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.budget.spend(len(p)); err != nil {
		return 0, err
	}
	return w.out.Write(p)
}

// Bounded returns a writer that passes on [MaxText] bytes, for templates of another sort.
// More is ErrTooMuch.
func Bounded(out io.Writer) io.Writer { return writer{out, &budget{left: MaxText}} }

// text calls a function whose result has at most most bytes.
func (b *budget) text(most int, make func() (string, error)) (any, error) {
	if err := b.room(most); err != nil {
		return nil, err
	}
	text, err := make()
	if err != nil {
		return nil, err
	}
	return text, b.spend(len(text))
}

// plainSize is the largest result of fmt.Sprintln for values.
func plainSize(values []any) int {
	return len("\n") + sizes(values, measure{perByte: 1})
}

// escapedSize is the largest result of an escaper of text/template for values: six bytes
// for each byte of fmt.Sprint.
func escapedSize(values []any) int {
	const perByte = len(`\u0000`)
	if size := plainSize(values); size <= MaxText {
		return perByte * size
	}
	return MaxText + 1
}

// formattedSize is the largest result of fmt.Sprintf for values. It considers what matters
// to the size of a format: the widest field, and whether a value can be used more than
// once.
func formattedSize(format string, values []any) int {
	// One byte becomes at most five: "0x61 " for "a", by "%# x".
	size := sizes(values, measure{perByte: 5, perValue: widest(format, values)})
	verbs := strings.Count(format, "%")
	if verbs > 0 && strings.Contains(format, "[") {
		if size > MaxText/verbs {
			return MaxText + 1
		}
		size *= verbs
	}
	const missing, extra = len("%!(BADPREC)%!(BADWIDTH)%!x(BADINDEX)"), len("%!(EXTRA )")
	return len(format) + verbs*missing + size + extra
}

// widest is the sum of the largest width and the largest precision that a format can ask
// for, by a number in it or by an argument for a star.
func widest(format string, values []any) int {
	const most = 1_000_000 // fmt's own bound: it ignores what is larger.
	largest, number := 0, 0
	for _, r := range format {
		if r < '0' || r > '9' {
			number = 0
			continue
		}
		number = min(number*10+int(r-'0'), most)
		largest = max(largest, number)
	}
	if strings.Contains(format, "*") {
		for _, value := range values {
			if kindOf(value) == whole {
				n := integer(value)
				largest = max(largest, int(min(max(n, -n), most)))
			}
		}
	}
	return 2 * largest
}

// measure computes how large a value may become as text.
type measure struct{ perByte, perValue int }

func sizes(values []any, m measure) int {
	total := 0
	for _, value := range values {
		if total += m.size(value) + 1; total > MaxText {
			return MaxText + 1
		}
	}
	return total
}

// size stops at the first sum that is too large.
func (m measure) size(value any) int {
	// What surrounds a value of the wrong type for its verb, or one in a map or a list.
	const around = len(`%!z(interface {}=)`) + len(`, `)
	switch v := value.(type) {
	case string:
		if len(v) > MaxText/m.perByte {
			return MaxText + 1
		}
		return around + m.perValue + m.perByte*len(v)
	case []any:
		total := around + len("[]interface {}{}") + m.perValue
		for _, element := range v {
			if total += m.size(element); total > MaxText {
				return MaxText + 1
			}
		}
		return total
	case map[string]any:
		total := around + len("map[string]interface {}{}") + m.perValue
		for key, element := range v {
			if total += m.size(key) + m.size(element); total > MaxText {
				return MaxText + 1
			}
		}
		return total
	case float64:
		const digits = 352 // 1e308 as %f
		return around + m.perValue + digits
	case complex128:
		const digits = 2 * 352
		return around + 2*m.perValue + digits
	default:
		const digits = 72 // a whole number as %#b
		return around + m.perValue + digits
	}
}
