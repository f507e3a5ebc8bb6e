package connection

import (
	"cmp"
	"fmt"
	"os"
	"regexp"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/pflag"
)

// RunID is the flag that names a run. It names and decides nothing, which is why the
// environment may set it too.
const RunID = "run-id"

func (c *Connection) addRun(flags *pflag.FlagSet) {
	flags.StringVar(&c.runID, RunID, "",
		"Name of the run in output, Audit-IDs, locks and Events, such as the ID of a CI job, the same for its retries; also $"+variable(RunID))
}

// givenRun is the id from the command line or the environment; empty if there is none.
func (c *Connection) givenRun() (id, from string) {
	if c.runID == "" && os.Getenv(variable(RunID)) != "" {
		return os.Getenv(variable(RunID)), variable(RunID)
	}
	return c.runID, "--" + RunID
}

// checkRun rejects an id that is not valid everywhere it has to appear.
func (c *Connection) checkRun() error {
	id, from := c.givenRun()
	switch {
	case id == "" && c.flags != nil && c.flags.Changed(RunID):
		return fmt.Errorf("%s is empty; is a variable not set?", from)
	case id != "" && !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`).MatchString(id):
		return fmt.Errorf("%s=%q: at most 63 letters, digits, dots, dashes and underscores, the first and the last a letter or a digit", from, id)
	}
	return nil
}

// NewRun returns the id of a run: the given one, or a fresh one.
func (c *Connection) NewRun() string {
	id, _ := c.givenRun()
	return cmp.Or(id, ulid.Make().String())
}

// Call distinguishes this process from others of the same run, such as retries: the run's
// id and a unique suffix. Requests are numbered below it. It is empty if there is no run.
func (c *Connection) Call() string {
	if id, _ := c.givenRun(); c.Run == "" || c.Run != id {
		return c.Run
	}
	return c.Run + "-" + c.Process()
}

// Process is a text that no other process has.
func (c *Connection) Process() string {
	if c.process == "" {
		id := ulid.Make().String()
		const random = 10 // characters, of five bits each
		c.process = id[len(id)-random:]
	}
	return c.process
}
