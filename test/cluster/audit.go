package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy records who did what with which answer, not what was in it.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// AuditEvent is one request, as the API server recorded it.
type AuditEvent struct {
	AuditID    string // as in the answer's header Audit-Id
	Stage      string // ResponseStarted for a watch, ResponseComplete at the end
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct {
		Username string
		Groups   []string
	}
	// ImpersonatedUser is for whom the user asked; empty for itself.
	ImpersonatedUser struct{ Username string }
	ResponseStatus   struct{ Code int }
}

// AuditEvents reads the audit log that Options.AuditLog asks for. An event can
// be written a moment after the client has its answer.
func (c *Cluster) AuditEvents() ([]AuditEvent, error) {
	if c.auditLog == "" {
		return nil, errors.New("the cluster has no audit log: see Options.AuditLog")
	}
	content, err := os.ReadFile(c.auditLog)
	if err != nil {
		return nil, err
	}
	var events []AuditEvent
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		var event AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("%s: %w", c.auditLog, err)
		}
		events = append(events, event)
	}
	return events, nil
}

func (c *Cluster) prepareAudit() error {
	if c.options.AuditLog == "" {
		return nil
	}
	c.auditLog = c.options.AuditLog
	if !filepath.IsAbs(c.auditLog) {
		c.auditLog = filepath.Join(c.Dir, c.auditLog)
	}
	return os.WriteFile(filepath.Join(c.Dir, "audit-policy.yaml"), []byte(auditPolicy), 0o644)
}
