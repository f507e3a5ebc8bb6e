package ownership

// Outcome says what became of an occurrence that was passed to a recorder.
type Outcome int

const (
	// OutcomeRecorded says that it is in a record, or needs no record.
	OutcomeRecorded Outcome = iota
	// OutcomeLeft says that this replica does not record it; the leader does.
	OutcomeLeft
	// OutcomeLost says that it is in no record and never will be. The caller has to declare a gap
	// in the history.
	OutcomeLost
)
