package object

// DryRun says how much of a run is only simulated.
type DryRun string

// The dry runs.
const (
	// DryRunNone writes.
	DryRunNone DryRun = ""
	// DryRunServer asks the server what would happen, and writes nothing.
	DryRunServer DryRun = "server"
	// DryRunClient only reads.
	DryRunClient DryRun = "client"
)
