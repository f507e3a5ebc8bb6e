package fights

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// counters holds the counters of one API server process.
type counters struct {
	process string
	writes  map[schema.GroupResource]int
}

// count reads the API server's counters of writes. It returns nil if only some objects are watched,
// because the server counts writes to all objects.
func (w *watch) count(ctx context.Context) (*counters, error) {
	if !w.everything || w.where != "" || w.targets.Labels != "" {
		return nil, nil
	}
	c := &counters{writes: map[schema.GroupResource]int{}}
	if err := w.server.NoRetry().Metrics(ctx, c.read); err != nil {
		return nil, err
	}
	if c.process == "" || len(c.writes) == 0 { // Every API server updates its own lease.
		return nil, errors.New("its metrics contain no counter of writes that this version of the plugin knows")
	}
	return c, nil
}

// uncountedError says that writes which change nothing may have gone unnoticed.
type uncountedError struct{ err error }

func (e *uncountedError) Error() string {
	return "the API server's writes could not be counted, so writes that change nothing may have been missed: " + e.err.Error()
}

func (e *uncountedError) Unwrap() error { return e.err }

func (e *uncountedError) Hint() string {
	if transport.Denied(e.err) {
		return "counting them requires the verb get on the URL /metrics; see: " + command.Kubectl("auth", "can-i", "get", "/metrics") +
			". With a TYPE or a namespace, nothing is counted"
	}
	return cmp.Or(object.HintOf(e.err), "run it again; with a TYPE or a namespace, nothing is counted")
}

// counter matches the metric that counts successful writes.
var counter = regexp.MustCompile(`^apiserver_request_total\{code="200",component="apiserver",dry_run="",group="([^"]*)",resource="([^"]*)",scope="resource",` +
	`subresource="(?:|status|scale|finalize|approval|resize|ephemeralcontainers)",verb="(?:PUT|PATCH|APPLY)",version="[^"]*"\} (\S+)`)

func (c *counters) read(page io.Reader) error {
	lines := bufio.NewReader(page)
	for {
		line, err := lines.ReadSlice('\n')
		if m := counter.FindSubmatch(line); bytes.HasPrefix(line, []byte("apiserver_request_total{")) && m != nil {
			n, _ := strconv.ParseFloat(string(m[3]), 64)
			c.writes[schema.GroupResource{Group: string(m[1]), Resource: string(m[2])}] += int(n)
		}
		if bytes.HasPrefix(line, []byte("process_start_time_seconds ")) {
			c.process = string(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

var errAnother = errors.New("another API server answered at the end, with counters of its own")

// counted subtracts earlier counters (before) from the current ones, and returns the number of
// writes to each resource. Behind a load balancer, a different API server process may answer, and
// its counters cannot be compared.
func (w *watch) counted(ctx context.Context, before *counters) (map[schema.GroupResource]int, error) {
	after, err := w.count(ctx)
	switch {
	case err != nil:
		return nil, err
	case after.process != before.process:
		return nil, errAnother
	}
	for resource, n := range before.writes {
		after.writes[resource] -= n
	}
	return after.writes, nil
}
