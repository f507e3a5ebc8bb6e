package plugin

import (
	"fmt"
	"io"
	"os"
	"regexp"
)

// unfilled is a command that was printed before anybody put the flags of the connection
// into it: the character that keeps their place, as it is or as a terminal, a document
// or a log spells it.
var unfilled = regexp.MustCompile(`kubectl [a-z0-9 -]{1,40}([\x1e\x1f]|\\+(x|u00)1[eEfF])`)

// exitUnfilled is the status of a run that has printed one.
const exitUnfilled = 97

// checked ends the program when it writes a command that cannot be pasted. So every run
// of the plugin in a test also tests that.
type checked struct {
	io.Writer
	tail []byte
}

// longest is more than what a command takes up to its slot.
const longest = 80

func (c *checked) Write(p []byte) (int, error) {
	c.tail = append(c.tail, p...)
	if found := unfilled.Find(c.tail); found != nil {
		fmt.Fprintf(os.Stderr, "\nprinted without the flags of the connection: %q\n", found)
		os.Exit(exitUnfilled)
	}
	c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-longest):]...)
	return c.Writer.Write(p)
}

// Unwrap returns the inner writer.
func (c *checked) Unwrap() io.Writer { return c.Writer }
