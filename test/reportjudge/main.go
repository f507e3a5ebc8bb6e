package reportjudge

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/schemas"
)

// Runner runs the tests of a package, and then judges the runs of the plugin.
type Runner struct {
	M interface{ Run() int }
	// Shared is the tests' cluster; its options must have an audit log.
	Shared *cluster.Shared
	// Elsewhere is set if some tests use other servers. Runs without a request to the shared server
	// are then not judged.
	Elsewhere bool
}

// Run implements the runner of [cluster.Shared.Main]. It fails if a report was wrong.
func (r Runner) Run() int {
	folder, err := os.MkdirTemp("", "reports")
	if err == nil {
		err = os.Setenv(Folder, folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	status := r.M.Run()
	c := r.Shared.Started()
	if c == nil || c.External() {
		return status // there is no audit log
	}
	if err := r.judgeAll(c, folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}

// published returns the folder of the schemas. Tests run in the folder of their package.
func published() string {
	dir := "."
	for range 6 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join(dir, "..")
	}
	return filepath.Join(dir, "docs", "schemas")
}

func (runner Runner) judgeAll(c *cluster.Cluster, folder string) error {
	all, err := records(folder)
	if err != nil {
		return err
	}
	events, err := readLog(c)
	if err != nil {
		return err
	}
	var wrong []string
	documents, err := schemas.Load(published())
	if err != nil {
		return err
	}
	lines, judgedWrites, ambiguous, elsewhere := 0, 0, 0, 0
	for i, r := range all {
		if err := documents.Output(r.Stdout); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %v", filepath.Base(r.Dir), strings.Join(r.Args[1:], " "), err))
		}
		if runner.Elsewhere && !slices.ContainsFunc(events, r.sent) {
			elsewhere++
			continue
		}
		if others(all, i) {
			ambiguous++ // The log does not show which of them sent a request.
			continue
		}
		own, others := writesDuring(r, events)
		faults, n := judge(r, own, others)
		lines, judgedWrites = lines+n, judgedWrites+len(own)
		for _, f := range faults {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s", filepath.Base(r.Dir), strings.Join(r.Args[1:], " "), f))
		}
		if len(faults) > 0 {
			wrong = append(wrong, "  stdout: "+start(r.Stdout), "  stderr: "+start(r.Stderr))
		}
	}
	fmt.Printf("valid by their schemas: %v\n", documents.Seen)
	fmt.Printf("judged by the audit log: %d runs, %d lines, %d writes; not judged: %d runs that shared an ID at the same time, %d of other servers\n",
		len(all)-ambiguous-elsewhere, lines, judgedWrites, ambiguous, elsewhere)
	if len(wrong) > 0 {
		return fmt.Errorf("reports that the audit log or a schema contradicts:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// others reports whether another run had the same ID at the same time.
func others(all []Record, i int) bool {
	for j, o := range all {
		if j != i && o.Run == all[i].Run && o.Began.Before(all[i].Ended) && all[i].Began.Before(o.Ended) {
			return true
		}
	}
	return false
}

// sent reports whether a request belongs to the run, by its Audit-ID. Runs can share an ID, so the
// time counts too.
func (r Record) sent(e cluster.AuditEvent) bool {
	return strings.HasPrefix(e.AuditID, r.Run+"-") && r.saw(e)
}

// saw reports whether the server received a request while the run was in progress.
func (r Record) saw(e cluster.AuditEvent) bool {
	return !e.RequestReceivedTimestamp.Before(r.Began) && !e.RequestReceivedTimestamp.After(r.Ended)
}

// writesDuring returns what a run wrote, and what others wrote in the meantime.
func writesDuring(r Record, events []cluster.AuditEvent) (own, others []write) {
	for _, e := range events {
		if !r.saw(e) {
			continue
		}
		if w, ok := writeOf(e); ok && r.sent(e) {
			own = append(own, w)
		} else if ok {
			others = append(others, w)
		}
	}
	return own, others
}

// start returns the start of a long text.
func start(text string) string {
	const most = 3000
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

// readLog reads the audit log. The server logs a request after it responds, so a request of our own,
// which it logs last, marks the end.
func readLog(c *cluster.Cluster) ([]cluster.AuditEvent, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	const mark, patience = "/version?mark=reports", time.Minute
	answer, err := client.Get(config.Host + mark) //nolint:noctx // the tests have ended
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", mark, answer.Status)
	}
	var events []cluster.AuditEvent
	var offset int64
	if !cluster.Until(patience, func() bool {
		var more []cluster.AuditEvent
		more, offset, err = c.AuditEventsFrom(offset)
		events = append(events, more...)
		for _, e := range more {
			if e.RequestURI == mark {
				return true
			}
		}
		return err != nil
	}) {
		return nil, fmt.Errorf("the audit log lacks a request that the server answered")
	}
	return events, err
}
