package await

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
	// logBytes limits how much of a log is read; logLine limits the length of a printed line.
	logBytes = 64 << 10
	logLine  = 400
	// logsAtOnce is how many logs are read for one explanation; logsKept is how long a log is
	// reused.
	logsAtOnce = 3
	logsKept   = time.Minute
	// logWait limits the time for reading one log, because the server requests it from the node.
	logWait = 4 * time.Second
	// logTries is how many times a log is requested, each time with fewer lines.
	logTries = 3
)

type podLogs struct {
	// lines is the number of lines to read; 0 means none.
	lines int
	read  func(context.Context, client.Log) (string, error)
	// mask is applied before the text is shortened.
	mask func(string) string
	emit func(event.Event)

	mu    sync.Mutex
	known map[event.Container]podLog
	// refused contains the namespaces in which the user is not allowed to read logs.
	refused map[string]bool
}

type podLog struct {
	lines []string
	err   error
	at    time.Time
}

// onto adds logs to the causes and returns the number of requests.
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
		log, sent := p.readLog(ctx, c.Container)
		requests += sent
		c.Log = log.lines
		if log.err != nil && !apierrors.IsForbidden(log.err) {
			c.Evidence = append(slices.Clip(c.Evidence), "its log could not be read: "+text.Excerpt(p.mask(log.err.Error())))
		}
	}
	return requests
}

func (p *podLogs) readLog(ctx context.Context, c event.Container) (podLog, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if log, ok := p.known[c]; ok && time.Since(log.at) < logsKept || p.refused[c.Namespace] {
		return log, 0
	}
	message, sent, err := p.last(ctx, c)
	if apierrors.IsForbidden(err) {
		if p.refused == nil {
			p.refused = map[string]bool{}
		}
		p.refused[c.Namespace] = true
		p.emit(event.Warned{Text: "--logs: you are not allowed to read the logs of Pods in namespace " + c.Namespace + " (get pods/log); causes are shown without logs"})
	}
	if ctx.Err() != nil {
		return podLog{}, sent
	}
	log := podLog{lines: logLines(p.mask(uncut(message)), p.lines), err: err, at: time.Now()}
	if p.known == nil {
		p.known = map[event.Container]podLog{}
	}
	p.known[c] = log
	return log, sent
}

// last reads the last lines of a log. The server starts at the first requested line; if it cuts off
// the end, fewer lines are requested.
func (p *podLogs) last(ctx context.Context, c event.Container) (message string, sent int, err error) {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	for lines := p.lines; ; {
		message, err = p.read(ctx, client.Log{
			Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Previous: c.Previous, Lines: lines, Bytes: logBytes,
		})
		sent++
		whole := strings.Count(message, "\n")
		if err != nil || len(message) < logBytes || lines == 1 {
			return message, sent, err
		}
		if lines = min(lines, whole) / 2; sent == logTries-1 {
			lines = 1
		}
		lines = max(1, lines)
	}
}

// uncut drops the last line of a truncated log, because a truncated value of a Secret would not be
// recognised.
func uncut(message string) string {
	if len(message) < logBytes {
		return message
	}
	return message[:cmp.Or(max(0, strings.LastIndexByte(message, '\n')), len(message))]
}

// logLines returns the last non-empty lines of a log, in printable form.
func logLines(message string, most int) []string {
	var lines []string
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" {
			lines = append(lines, text.Truncate(text.Printable(line, '\t'), logLine))
		}
	}
	return lines[max(0, len(lines)-most):]
}
