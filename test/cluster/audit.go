package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// AuditedBodies is a group of users. The audit log contains the bodies of their requests and
// responses.
const AuditedBodies = "audited-bodies"

// auditPolicy records metadata for all users, and bodies for one group.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  userGroups: [` + AuditedBodies + `]
- level: Metadata
`

// AuditEvent is one request, as the API server recorded it.
type AuditEvent struct {
	AuditID    string // as in the response header Audit-Id
	Stage      string // ResponseStarted for a watch, ResponseComplete at the end
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct {
		Username string
		Groups   []string
	}
	// ImpersonatedUser is the user that the client impersonated, or empty.
	ImpersonatedUser struct{ Username string }
	ResponseStatus   struct{ Code int }
	// RequestReceivedTimestamp is the time of the request.
	RequestReceivedTimestamp time.Time
	// ResponseObject is the response, for users in [AuditedBodies].
	ResponseObject json.RawMessage
}

// AuditEvents reads the audit log that Options.AuditLog enables. The server may write an event a
// moment after the client has its response.
func (c *Cluster) AuditEvents() ([]AuditEvent, error) {
	events, _, err := c.AuditEventsFrom(0)
	return events, err
}

// AuditEventsFrom reads the log from an offset, and returns the next offset, so that a long test
// need not read it all each time.
func (c *Cluster) AuditEventsFrom(offset int64) (events []AuditEvent, next int64, err error) {
	if c.auditLog == "" {
		return nil, offset, errors.New("the cluster has no audit log: see Options.AuditLog")
	}
	file, err := os.Open(c.auditLog)
	if err != nil {
		return nil, offset, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, offset, err
	}
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		var event AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, offset, fmt.Errorf("%s: %w", c.auditLog, err)
		}
		events = append(events, event)
		offset += int64(len(line))
	}
	return events, offset, nil
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
