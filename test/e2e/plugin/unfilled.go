package plugin

import (
	"fmt"
	"io"
	"os"
	"regexp"
)

// unfilled matches the placeholder for connection flags in a printed command, as a character or as
// terminals, documents and logs escape it.
var unfilled = regexp.MustCompile(`kubectl [a-z0-9 -]{1,40}([\x1e\x1f]|\\+(x|u00)1[eEfF])`)

// exitUnfilled is the exit status of a run that has printed a placeholder.
const exitUnfilled = 97

// checked ends the program when it writes a command that cannot be pasted, so that every run in a
// test also checks that.
type checked struct {
	io.Writer
	tail []byte
}

// longest is more than the length of a command up to its placeholder.
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

// Unwrap returns the underlying writer.
func (c *checked) Unwrap() io.Writer { return c.Writer }
