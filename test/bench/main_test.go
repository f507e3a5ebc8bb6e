package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// TestMain lets the test binary act as the launcher, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == verbLaunch {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := launch(ctx, os.Stdout, os.Args[2], os.Args[3:]); err != nil {
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestPlan(t *testing.T) {
	t.Setenv(envCorpus, t.TempDir()) // no corpus
	const all = "create again change confirm change all confirm all diff wait delete"
	tests := map[string]struct {
		args string
		want string // cells with their works
	}{
		"only named kinds, without real sets": {
			args: "--kind Deployment --count 100 --rtt 20ms --work again",
			want: "100 Deployments, 20ms: again",
		},
		"memory needs no network": {
			args: "--kind ConfigMap --count 10000",
			want: "10,000 ConfigMaps, 0s: create again wait; 10,000 ConfigMaps, 0s: create a set set again prune a tenth",
		},
		"our own sample without a corpus": {
			args: "--set argocd --rtt 0s",
			want: "sample shop (48 objects), 0s: create again diff; sample shop (48 objects), 0s: delete",
		},
		"all round-trip times": {
			args: "--kind Deployment --count 1000",
			want: "1,000 Deployments, 0s: " + all + "; 1,000 Deployments, 20ms: " + all + "; 1,000 Deployments, 100ms: " + all,
		},
		"the cluster of a platform team": {
			args: "--set platform --rtt 100ms --work again,diff",
			want: "a cluster (5,400 objects in 300 namespaces), 100ms: again diff",
		},
		"short": {
			args: "--short --kind ConfigMap",
			want: "1 ConfigMap, 0s: version --client " + all + "; 100 ConfigMaps, 0s: " + all + "; 100 ConfigMaps, 0s: create a set set again prune a tenth; " +
				"sample shop (48 objects), 0s: create again diff; sample shop (48 objects), 0s: delete",
		},
		"peers": {
			args: "--peers --short --set none --kind Deployment",
			want: "20 Deployments, 0s: " + all,
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			o, err := parse(strings.Fields(test.args))
			if err != nil {
				t.Fatal(err)
			}
			cells, err := plan(t.TempDir(), o, t.Logf)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range cells {
				got = append(got, c.String()+": "+strings.Join(c.works, " "))
			}
			if got := strings.Join(got, "; "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{
		"--work applying", "--kind Pod", "--set emacs", "--count 0", "--count many", "-n 0",
	} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

func TestCallMeasuresOnlyTheChild(t *testing.T) {
	ours := make([]byte, 128<<20)
	for i := 0; i < len(ours); i += 4096 {
		ours[i] = 1
	}
	log := filepath.Join(t.TempDir(), "log")
	u, err := call(t.Context(), os.Environ(), log, "sh", "-c", "echo out; echo err >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(ours)
	if u.Exit != 3 {
		t.Errorf("exit status %d, want 3", u.Exit)
	}
	if u.PeakBytes == 0 || u.PeakBytes > 64<<20 {
		t.Errorf("the shell used %d MiB, which includes the memory of this process", u.PeakBytes>>20)
	}
	if u.Seconds <= 0 || u.CPUSeconds <= 0 {
		t.Errorf("no time was measured: %+v", u)
	}
	if got := tail(log); got != "out\nerr" {
		t.Errorf("output is %q", got)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pid := filepath.Join(t.TempDir(), "pid")
	done := make(chan error, 1)
	go func() {
		_, err := call(ctx, os.Environ(), filepath.Join(t.TempDir(), "log"), "sh", "-c", "echo $$ >"+pid+"; exec sleep 600")
		done <- err
	}()
	var text string
	for !strings.HasSuffix(text, "\n") {
		time.Sleep(time.Millisecond)
		content, _ := os.ReadFile(pid)
		text = string(content)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("no error")
	}
	number, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(number, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program still runs after the cancellation: %v", err)
	}
}

func TestOnlyFinishedRequestsOfTheUserCount(t *testing.T) {
	event := func(stage, user string) (e cluster.AuditEvent) {
		e.Stage, e.User.Username = stage, user
		return e
	}
	events := []cluster.AuditEvent{
		event("ResponseComplete", "kubectl"), event("ResponseComplete", "system:apiserver"),
		event("ResponseStarted", "kubectl"), event("ResponseComplete", "kubectl"),
	}
	if got := finished(events, "kubectl"); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}
