package object

// HintedError is an error with a hint, for errors that no caller distinguishes by
// type. Others have a Hint of their own.
type HintedError struct {
	Err error
	// Advice may be empty.
	Advice string
}

func (e *HintedError) Error() string { return e.Err.Error() }

func (e *HintedError) Unwrap() error { return e.Err }

// Hint returns the advice.
func (e *HintedError) Hint() string { return e.Advice }
