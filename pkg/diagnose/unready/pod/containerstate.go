package pod

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Container is one container of a Pod: its spec and its status.
type Container struct {
	pod    *corev1.Pod
	Spec   corev1.Container
	Status corev1.ContainerStatus
	// role is what messages call it: "container app", "init container setup".
	role string
}

// ContainersOf pairs containers with their statuses. A node has not handled a container
// without a status yet.
func ContainersOf(p *corev1.Pod, specs []corev1.Container, statuses []corev1.ContainerStatus, role string) []Container {
	var out []Container
	for _, spec := range specs {
		i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == spec.Name })
		if i < 0 {
			continue
		}
		b := Container{pod: p, Spec: spec, Status: statuses[i], role: role + " " + spec.Name}
		if spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways && role == "init container" {
			b.role = "sidecar " + spec.Name // KEP-753
		}
		out = append(out, b)
	}
	return out
}

func (b Container) sidecar() bool { return strings.HasPrefix(b.role, "sidecar ") }

// end returns how the container last ended, as evidence at a time.
func (b Container) end(t *corev1.ContainerStateTerminated, now time.Time) []string {
	said := fmt.Sprintf("Pod %s: exit code %d", b.pod.Name, t.ExitCode)
	if t.Reason != "" {
		said += " (" + text.Excerpt(t.Reason) + ")"
	}
	if !t.FinishedAt.IsZero() {
		said += " at " + clock(t.FinishedAt.UTC(), now.UTC())
	}
	said += ", " + text.Count(int(b.Status.RestartCount), "restart")
	out := []string{said}
	for _, line := range lastLines(t.Message, 3) {
		out = append(out, "termination message: "+line)
	}
	return out
}

// clock is a time of today, or one of another day with its date.
func clock(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05Z")
	}
	return t.Format("2006-01-02 15:04:05Z")
}

// is reports whether an event is about this container.
func (b Container) is(e *corev1.Event) bool {
	path := e.InvolvedObject.FieldPath
	return path == "" || strings.HasSuffix(path, "{"+b.Spec.Name+"}")
}

// instance returns the container whose logs are to be read.
func (b Container) instance(previous bool) event.Container {
	return event.Container{Namespace: b.pod.Namespace, Pod: b.pod.Name, Name: b.Spec.Name, Previous: previous}
}

// logs returns the command that shows the container's logs.
func (b Container) logs(previous bool) string {
	words := []string{"logs", b.pod.Name, "-c", b.Spec.Name}
	if previous {
		words = append(words, "--previous")
	}
	return rule.Kubectl(b.pod.Namespace, words...)
}

// lastLines returns the last non-empty lines of a text, cleaned.
func lastLines(s string, n int) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = text.Excerpt(line); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-n):]
}
