package plan

import "fmt"

// itemError is a fault of one item.
type itemError struct {
	it   Item
	text string
	hint string
}

func (e *itemError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.it.Source, e.it.Ref, e.text)
}

// Hint says what to do about it; it may be empty.
func (e *itemError) Hint() string { return e.hint }
