package condition

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
}

// Error returns the place and the message.
func (e *CompileError) Error() string { return e.Message }

// Hint returns what was probably meant.
func (e *CompileError) Hint() string { return e.Meant }
