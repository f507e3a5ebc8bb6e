package noop

// Verdict is what the live object alone shows about applying a manifest, without asking
// the server.
type Verdict int

const (
	// Doubtful means that something may be contested, or the sets do not decide. Ask the
	// server.
	Doubtful Verdict = iota
	// Clear means that the manifest changes something, and no one else owns any of it with
	// another value.
	Clear
	// Settled means that applying the manifest is a no-op.
	Settled
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Clear:
		return "clear"
	case Settled:
		return "settled"
	case Doubtful:
	}
	return "doubtful"
}
