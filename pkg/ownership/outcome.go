package ownership

// Outcome says what became of an occurrence that was handed over to be recorded.
type Outcome int

const (
	// OutcomeRecorded says that it is in a record, or nothing is to be recorded of it.
	OutcomeRecorded Outcome = iota
	// OutcomeLeft says that this replica does not record it; the leader is to.
	OutcomeLeft
	// OutcomeLost says that it is in no record and never will be. Whoever hears this has
	// to declare that the time is not fully known.
	OutcomeLost
)
