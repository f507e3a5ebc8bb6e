package admission

import (
	"errors"
	"io"
	"sync/atomic"
)

const (
	// maxUnderWay bounds the bytes of all reviews in progress. An API server sends a few at a time,
	// of some ten kilobytes each; a client that sends more is not waited for.
	maxUnderWay = 32 << 20
	// maxDepth bounds the nesting of a review. Kubernetes' own kinds have fewer than forty levels,
	// and the work for an object grows with the square of its depth.
	maxDepth = 200
)

var (
	errCrowded = errors.New("too much is under way")
	errDeep    = errors.New("nested deeper than any object that is looked at")
)

// intake bounds the memory of all reviews in progress together (edge case 101). The zero value has
// room for maxUnderWay bytes.
type intake struct{ held atomic.Int64 }

// reader counts the bytes read from r until it is released. Reading fails with errCrowded if there
// is no room for more.
func (i *intake) reader(r io.Reader) *counted { return &counted{Reader: r, of: i} }

// counted is a body that takes up room as it arrives: its stated length is not trusted.
type counted struct {
	io.Reader
	of   *intake
	size int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.size += int64(n)
	if c.of.held.Add(int64(n)) > maxUnderWay {
		return n, errCrowded
	}
	return n, err
}

// release returns the room, once nothing of the body is held any more.
func (c *counted) release() { c.of.held.Add(-c.size) }

// tooDeep reports whether a JSON text is nested deeper than maxDepth. For other texts, which the
// parser rejects, the result is arbitrary.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			i = endOfText(text, i+1)
		}
	}
	return false
}

// endOfText returns the position of the closing quote, or the end of the text.
func endOfText(text []byte, i int) int {
	for i < len(text) && text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i
}
