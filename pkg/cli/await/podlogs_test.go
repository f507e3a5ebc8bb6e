package await

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// crashed returns a cause that names a container.
func crashed(pod string) event.Cause {
	return event.Cause{Code: "ContainerCrash", Container: event.Container{Namespace: "prod", Pod: pod, Name: "app", Previous: true}}
}

// A cause is reported with the end of the container's log: the last non-empty lines, printable,
// limited in length, and without values of Secrets.
func TestPodLogs(t *testing.T) {
	vault := redact.NewVault()
	vault.Add("correct-horse-battery")
	var asked []client.Log
	p := &podLogs{lines: 3, mask: vault.Text, read: func(_ context.Context, l client.Log) (string, error) {
		asked = append(asked, l)
		return "first\n\x1b[31mlocked\x1b[0m\n\n" + strings.Repeat("x", logLine-10) + "correct-horse-battery\r\npassword=correct-horse-battery\n", nil
	}}
	causes := []event.Cause{{Code: "SecretMissing"}, crashed("web-1")}
	if n := p.onto(t.Context(), causes); n != 1 || causes[0].Log != nil {
		t.Errorf("%d requests, %+v", n, causes)
	}
	log := causes[1].Log
	if len(log) != 3 || log[0] != `\x1b[31mlocked\x1b[0m` || len(log[1]) > logLine || log[2] != "password=***" || strings.Contains(strings.Join(log, ""), "horse") {
		t.Errorf("%q", log)
	}
	if want := (client.Log{Namespace: "prod", Pod: "web-1", Container: "app", Previous: true, Lines: 3, Bytes: logBytes}); !slices.Equal(asked, []client.Log{want}) {
		t.Errorf("asked %+v", asked)
	}
	again := []event.Cause{crashed("web-1")}
	if n := p.onto(t.Context(), again); n != 0 || len(again[0].Log) != 3 {
		t.Errorf("again: %d requests, %q", n, again[0].Log)
	}
}

// A missing permission to read logs is reported once, and no further log is requested. If a node
// does not answer, the cause is reported with this error. Without the flag no log is requested.
func TestPodLogsUnread(t *testing.T) {
	var warned []string
	requests := 0
	p := &podLogs{
		mask: redact.NewVault().Text,
		emit: func(e event.Event) { warned = append(warned, e.(event.Warned).Text) },
		read: func(_ context.Context, l client.Log) (string, error) {
			requests++
			if l.Pod == "away" {
				return "", errors.New("the node does not answer")
			}
			return "", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, l.Pod, nil)
		},
	}
	p.onto(t.Context(), []event.Cause{crashed("web-1")})
	if requests != 0 {
		t.Error("logs were read without --logs")
	}
	p.lines = 5
	away := []event.Cause{crashed("away")}
	if p.onto(t.Context(), away); !slices.Contains(away[0].Evidence, "its log could not be read: the node does not answer") || warned != nil {
		t.Errorf("%+v, warned %q", away, warned)
	}
	for range 3 {
		causes := []event.Cause{crashed("web-1"), crashed("web-2")}
		p.onto(t.Context(), causes)
		if causes[0].Log != nil || causes[0].Evidence != nil {
			t.Errorf("%+v", causes)
		}
	}
	if requests != 2 || len(warned) != 1 || !strings.Contains(warned[0], "pods/log") {
		t.Errorf("%d requests, warned %q", requests, warned)
	}
}

// A truncated log ends in the middle of a word, which the mask would not recognize.
func TestPodLogsCutOff(t *testing.T) {
	vault := redact.NewVault()
	vault.Add("correct-horse-battery")
	message := "starting\n" + strings.Repeat("x", logBytes-len("starting\n")-len("\nlogin correct-horse")) + "\nlogin correct-horse"
	p := &podLogs{lines: 5, mask: vault.Text, read: func(context.Context, client.Log) (string, error) { return message, nil }}
	causes := []event.Cause{crashed("web-1")}
	p.onto(t.Context(), causes)
	if log := causes[0].Log; len(log) != 2 || log[0] != "starting" || strings.Contains(log[1], "horse") {
		t.Errorf("%d bytes, shown %q", len(message), log)
	}
}

// The error of a request that the plugin itself cancelled is not kept for later. A user who may not
// read logs in one namespace may read them in another.
func TestCancelledPodLogsAreReadAgain(t *testing.T) {
	warned := 0
	p := &podLogs{lines: 5, mask: redact.NewVault().Text, emit: func(event.Event) { warned++ }, read: func(ctx context.Context, l client.Log) (string, error) {
		if l.Namespace == "secret" {
			return "", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, l.Pod, nil)
		}
		return "said", context.Cause(ctx)
	}}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	p.onto(stopped, []event.Cause{crashed("web-1")})
	causes := []event.Cause{crashed("web-2"), crashed("web-3"), crashed("web-1")}
	causes[0].Container.Namespace, causes[1].Container.Namespace = "secret", "secret"
	if n := p.onto(t.Context(), causes); n != 2 || len(causes[2].Log) != 1 || causes[2].Evidence != nil || warned != 1 {
		t.Errorf("%d requests, %d warnings, %+v", n, warned, causes[2])
	}
}

// The server cuts off the end of a log that exceeds the byte limit. The last lines of a log with
// huge lines are shown all the same.
func TestPodLogsOfHugeLines(t *testing.T) {
	long := func(begin string, n int) string { return begin + strings.Repeat("x", n-len(begin)) + "\n" }
	for name, test := range map[string]struct {
		log  []string
		want []string
	}{
		"every line is long":          {[]string{long("1", 30<<10), long("2", 30<<10), long("3", 30<<10), long("4", 30<<10)}, []string{"4"}},
		"an early line is long":       {[]string{long("1", 70<<10), "2\n", "3\n"}, []string{"3"}},
		"the last line is long":       {[]string{"1\n", "2\n", long("3", 80<<10)}, []string{"3"}},
		"many lines of a few kB each": {slices.Repeat([]string{long("a", 4<<10)}, 30), slices.Repeat([]string{"a"}, 7)},
	} {
		t.Run(name, func(t *testing.T) {
			p := &podLogs{lines: 30, mask: redact.NewVault().Text, read: func(_ context.Context, l client.Log) (string, error) {
				message := strings.Join(test.log[max(0, len(test.log)-l.Lines):], "")
				return message[:min(len(message), l.Bytes)], nil
			}}
			causes := []event.Cause{crashed("web-1")}
			requests := p.onto(t.Context(), causes)
			var begins []string
			for _, line := range causes[0].Log {
				begins = append(begins, line[:1])
			}
			if !slices.Equal(begins, test.want) || requests > 3 {
				t.Errorf("%d requests: shown %q", requests, begins)
			}
		})
	}
}
