package fights

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
	err := w.server.NoRetry().Metrics(ctx, c.read)
	return c, err
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

// counted subtracts earlier counters (before) from the current ones, and returns the number of
// writes to each resource. Behind a load balancer, a different API server process may answer, and
// its counters cannot be compared.
func (w *watch) counted(ctx context.Context, before *counters) (map[schema.GroupResource]int, error) {
	after, err := w.count(ctx)
	switch {
	case err != nil:
		return nil, err
	case after.process != before.process:
		return nil, errors.New("another API server answered")
	}
	for resource, n := range before.writes {
		after.writes[resource] -= n
	}
	return after.writes, nil
}
