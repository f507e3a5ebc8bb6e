package condition

import "fmt"

// CompileError says where and why the text of a condition is wrong.
type CompileError struct {
	// Spec is the condition as typed.
	Spec Spec
	// Line and Column are the place in Spec.Text, both from 1; zero where the
	// whole is wrong.
	Line, Column int
	// Message is one line without the place.
	Message string
	// Meant is what was probably meant, such as the nearest name; may be empty.
	Meant string
	// Advice is what to write where no name is near; may be empty.
	Advice string
}

// Error returns the condition, the place and the message.
func (e *CompileError) Error() string {
	text := brief(e.Spec.Text)
	switch {
	case e.Line <= 0:
		return fmt.Sprintf("%q: %s", text, e.Message)
	case e.Line == 1:
		return fmt.Sprintf("%q, column %d: %s", text, e.Column, e.Message)
	default:
		return fmt.Sprintf("%q, line %d, column %d: %s", text, e.Line, e.Column, e.Message)
	}
}

// brief shortens a text that is too long to read.
func brief(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Hint returns what was probably meant, or what to write.
func (e *CompileError) Hint() string {
	if e.Meant == "" {
		return e.Advice
	}
	return "did you mean " + e.Meant + "?"
}
