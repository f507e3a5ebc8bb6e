package waitcmd

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// logBytes is how much of a log is read, logLine how much of a line is shown.
	logBytes = 64 << 10
	logLine  = 400
	// logsAtOnce is how many logs one explanation reads, logsKept how long a log is
	// reused.
	logsAtOnce = 3
	logsKept   = time.Minute
	// logWait is how long one log may take: the server asks the node for it.
	logWait = 4 * time.Second
	// logTries is how often one log is requested, with fewer lines each time.
	logTries = 3
)

// podLogs reads the last lines of the containers that causes name.
type podLogs struct {
	// lines is the number of lines; 0 reads none.
	lines int
	read  func(context.Context, client.Log) (string, error)
	// mask removes secret values, before anything is cut.
	mask func(string) string
	emit func(event.Event)

	mu    sync.Mutex
	known map[event.Container]podLog
	// refused are the namespaces whose logs are not for us.
	refused map[string]bool
}

// podLog is the end of a container's log, or the reason why it is unknown.
type podLog struct {
	lines []string
	err   error
	at    time.Time
}

// onto adds the logs to the causes, and returns how many requests that took.
func (p *podLogs) onto(ctx context.Context, causes []event.Cause) int {
	if p.lines == 0 {
		return 0
	}
	requests, read := 0, 0
	for i := range causes {
		c := &causes[i]
		if c.Container == (event.Container{}) || read == logsAtOnce {
			continue
		}
		read++
		log, sent := p.of(ctx, c.Container)
		requests += sent
		c.Log = log.lines
		if log.err != nil && !apierrors.IsForbidden(log.err) {
			c.Evidence = append(slices.Clip(c.Evidence), "its log could not be read: "+text.Excerpt(p.mask(log.err.Error())))
		}
	}
	return requests
}

func (p *podLogs) of(ctx context.Context, c event.Container) (podLog, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if log, ok := p.known[c]; ok && time.Since(log.at) < logsKept || p.refused[c.Namespace] {
		return log, 0
	}
	said, sent, err := p.last(ctx, c)
	if apierrors.IsForbidden(err) {
		if p.refused == nil {
			p.refused = map[string]bool{}
		}
		p.refused[c.Namespace] = true
		p.emit(event.Warned{Text: "--logs: you may not read the logs of Pods in namespace " + c.Namespace + " (get pods/log); the causes come without them"})
	}
	if ctx.Err() != nil { // We cancelled the request, which is not an answer.
		return podLog{}, sent
	}
	log := podLog{lines: logLines(p.mask(uncut(said)), p.lines), err: err, at: time.Now()}
	if p.known == nil {
		p.known = map[event.Container]podLog{}
	}
	p.known[c] = log
	return log, sent
}

// last reads the last lines of a log, and returns how many requests that took. The server
// counts bytes from the first requested line, so if there are too many, the last ones are
// missing: it then requests fewer lines, and in the end a single one.
func (p *podLogs) last(ctx context.Context, c event.Container) (said string, sent int, err error) {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	for lines := p.lines; ; {
		said, err = p.read(ctx, client.Log{
			Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Previous: c.Previous, Lines: lines, Bytes: logBytes,
		})
		sent++
		whole := strings.Count(said, "\n")
		if err != nil || len(said) < logBytes || lines == 1 {
			return said, sent, err
		}
		// That many fit on average; the last ones may be longer than those before.
		if lines = min(lines, whole) / 2; sent == logTries-1 {
			lines = 1
		}
		lines = max(1, lines)
	}
}

// uncut leaves out the last line of a log that was too long, since it is cut anywhere:
// half a Secret's value would not be recognized. A single line is shown by its beginning.
func uncut(said string) string {
	if len(said) < logBytes {
		return said
	}
	return said[:cmp.Or(max(0, strings.LastIndexByte(said, '\n')), len(said))]
}

// logLines are the last lines of a log that say something, each fit for a line.
func logLines(said string, most int) []string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" {
			lines = append(lines, text.Truncate(text.Printable(line, '\t'), logLine))
		}
	}
	return lines[max(0, len(lines)-most):]
}
