package companion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/loopback"
)

// Replica is a process of the webhook.
type Replica struct {
	companion *Companion
	cmd       *exec.Cmd
	ended     chan struct{}
	err       error // of the process; valid after ended
	admission string
	health    string
	metrics   string
}

// Start starts a replica, waits until it is ready, and directs calls to it. It returns an error if
// the replica or ctx ends first.
func (w *Companion) Start(ctx context.Context) (*Replica, error) {
	r, err := w.launch()
	if err != nil {
		return nil, err
	}
	for {
		if err := get(ctx, "http://"+r.health+"/readyz", io.Discard); err == nil {
			w.balancer.set(r.admission, true)
			return r, nil
		}
		select {
		case <-r.ended:
			return nil, fmt.Errorf("the webhook has ended: %w", r.err)
		case <-ctx.Done():
			r.Kill()
			return nil, fmt.Errorf("the webhook is not ready: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *Companion) launch() (*Replica, error) {
	r := &Replica{companion: w, ended: make(chan struct{})}
	for _, address := range []*string{&r.admission, &r.health, &r.metrics} {
		var err error
		if *address, err = loopback.Address(); err != nil {
			return nil, err
		}
	}
	host, port, err := net.SplitHostPort(r.admission)
	if err != nil {
		return nil, err
	}
	certificates, err := os.MkdirTemp(w.cluster.Dir, "certificates")
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, w.args...), "--cert-dir="+certificates, "--host="+host, "--port="+port, "--health-address="+r.health, "--metrics-address="+r.metrics)
	r.cmd = exec.Command(filepath.Join(w.options.Root, "bin/webhook"), append(args, w.options.Args...)...)
	r.cmd.Env = append(append(os.Environ(), w.env...), "KUBECONFIG="+w.kubeconfig)
	r.cmd.Stdout, r.cmd.Stderr = w.options.Log, w.options.Log
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.replicas = append(w.replicas, r)
	w.mu.Unlock()
	go func() {
		r.err = r.cmd.Wait()
		w.balancer.set(r.admission, false)
		close(r.ended)
	}()
	return r, nil
}

// AdmissionAddress is the address for the API server's calls.
func (r *Replica) AdmissionAddress() string { return r.admission }

// MetricsAddress is the address of the metrics.
func (r *Replica) MetricsAddress() string { return r.metrics }

// Keep starts a replica, and like a kubelet restarts it whenever it ends, until the companion is
// closed: a replica ends itself if it cannot renew its lease for ten seconds. current returns the
// latest replica.
func (w *Companion) Keep(ctx context.Context) (current func() *Replica, err error) {
	r, err := w.Start(ctx)
	if err != nil {
		return nil, err
	}
	var running atomic.Pointer[Replica]
	running.Store(r)
	w.kept.Go(func() {
		for {
			<-running.Load().ended
			for r = nil; r == nil; {
				if w.closing.Load() {
					return
				}
				starting, cancel := context.WithTimeout(context.Background(), time.Minute)
				if r, err = w.Start(starting); err != nil {
					r = nil
					time.Sleep(time.Second)
				}
				cancel()
			}
			running.Store(r)
		}
	})
	return running.Load, nil
}

// Running returns the running replicas.
func (w *Companion) Running() (running []*Replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.replicas {
		select {
		case <-r.ended:
		default:
			running = append(running, r)
		}
	}
	return running
}

// Ended returns a channel that is closed when the process has ended.
func (r *Replica) Ended() <-chan struct{} { return r.ended }

// Kill kills the replica, as a power failure would.
func (r *Replica) Kill() {
	_ = r.cmd.Process.Kill()
	<-r.ended
}

// Stop ends the replica as Kubernetes does: with a signal, and without new connections. It returns
// the process's error.
func (r *Replica) Stop() error {
	r.companion.balancer.set(r.admission, false)
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	<-r.ended
	return r.err
}

// Metric returns the sum of one of the replica's metrics: see [Sum].
func (r *Replica) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	var text strings.Builder
	if err := get(ctx, "http://"+r.metrics+"/metrics", &text); err != nil {
		return 0, err
	}
	return Sum(text.String(), name, labels...)
}

// Sum returns the sum of a metric's series, in the text of a metrics page, that contain all of
// labels, such as `kind="Deployment"`.
func Sum(text, name string, labels ...string) (float64, error) {
	sum := 0.0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := max(strings.LastIndexByte(line, ' '), 0) // labels may contain spaces
		series, value := line[:at], line[at:]
		bare, _, _ := strings.Cut(series, "{")
		if bare != name || slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(series, label) }) {
			continue
		}
		n, err := strconv.ParseFloat(value[1:], 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Busy reports whether the replica has anything left to record. A replica that does not lead keeps
// for a while what the leader has to record.
func (r *Replica) Busy(ctx context.Context) (bool, error) {
	unsettled, err := r.Metric(ctx, "k8sconnect_tracker_unsettled")
	if err != nil {
		return false, err
	}
	pending, err := r.Metric(ctx, "k8sconnect_records_pending")
	if err != nil {
		return false, err
	}
	leads, err := r.Metric(ctx, "k8sconnect_tracker_leads")
	return unsettled > 0 || leads > 0 && pending > 0, err
}

// Memory returns the process's resident memory and its peak, in bytes.
func (r *Replica) Memory() (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &peak)
	}
	return now << 10, peak << 10, err
}

func get(ctx context.Context, url string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(to, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}
