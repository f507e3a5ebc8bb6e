package reportjudge

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// Runner runs the tests of a package, and then judges the runs of the plugin.
type Runner struct {
	M interface{ Run() int }
	// Shared is the tests' cluster; its options must have an audit log.
	Shared *cluster.Shared
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
	if err := judgeAll(c, folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}

func judgeAll(c *cluster.Cluster, folder string) error {
	all, err := records(folder)
	if err != nil {
		return err
	}
	events, err := readLog(c)
	if err != nil {
		return err
	}
	var wrong []string
	lines, judgedWrites, ambiguous := 0, 0, 0
	for i, r := range all {
		if others(all, i) {
			ambiguous++ // The log does not show which of them sent a request.
			continue
		}
		own := writesOf(r, events)
		faults, n := judge(r, own)
		lines, judgedWrites = lines+n, judgedWrites+len(own)
		for _, f := range faults {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s", filepath.Base(r.Dir), strings.Join(r.Args[1:], " "), f))
		}
		if len(faults) > 0 {
			wrong = append(wrong, "  stdout: "+r.Stdout, "  stderr: "+r.Stderr)
		}
	}
	fmt.Printf("judged by the audit log: %d runs, %d lines, %d writes; not judged: %d runs that shared an ID at the same time\n",
		len(all)-ambiguous, lines, judgedWrites, ambiguous)
	if len(wrong) > 0 {
		return fmt.Errorf("reports that the audit log contradicts:\n%s", strings.Join(wrong, "\n"))
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

// writesOf returns what a run wrote, by the Audit-IDs of its requests. Runs can share an ID, so the
// time counts too.
func writesOf(r Record, events []cluster.AuditEvent) []write {
	var out []write
	for _, e := range events {
		if !strings.HasPrefix(e.AuditID, r.Run+"-") || e.RequestReceivedTimestamp.Before(r.Began) || e.RequestReceivedTimestamp.After(r.Ended) {
			continue
		}
		if w, ok := writeOf(e); ok {
			out = append(out, w)
		}
	}
	return out
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
