package unready

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// container is one container of a Pod: what was asked for, and how it does.
type container struct {
	pod    *corev1.Pod
	spec   corev1.Container
	status corev1.ContainerStatus
	// role is what messages call it: "container app", "init container setup".
	role string
}

// containersOf pairs containers with their statuses. One without a status was not looked
// at by its node yet.
func containersOf(p *corev1.Pod, specs []corev1.Container, statuses []corev1.ContainerStatus, role string) []container {
	var out []container
	for _, spec := range specs {
		i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == spec.Name })
		if i < 0 {
			continue
		}
		b := container{pod: p, spec: spec, status: statuses[i], role: role + " " + spec.Name}
		if spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways && role == "init container" {
			b.role = "sidecar " + spec.Name // KEP-753
		}
		out = append(out, b)
	}
	return out
}

func (b container) sidecar() bool { return strings.HasPrefix(b.role, "sidecar ") }

// end is how the container ended last, as evidence.
func (b container) end(t *corev1.ContainerStateTerminated) []string {
	said := fmt.Sprintf("Pod %s: exit code %d", b.pod.Name, t.ExitCode)
	if t.Reason != "" {
		said += " (" + text.Excerpt(t.Reason) + ")"
	}
	if !t.FinishedAt.IsZero() {
		said += " at " + t.FinishedAt.UTC().Format("15:04:05Z")
	}
	said += ", " + text.Count(int(b.status.RestartCount), "restart")
	out := []string{said}
	for _, line := range lastLines(t.Message, 3) {
		out = append(out, "termination message: "+line)
	}
	return out
}

// is reports whether an event is about this container.
func (b container) is(e *corev1.Event) bool {
	path := e.InvolvedObject.FieldPath
	return path == "" || strings.HasSuffix(path, "{"+b.spec.Name+"}")
}

// instance names the container whose logs are to be read.
func (b container) instance(previous bool) event.Container {
	return event.Container{Namespace: b.pod.Namespace, Pod: b.pod.Name, Name: b.spec.Name, Previous: previous}
}

// logs is the command that shows what the container said.
func (b container) logs(previous bool) string {
	words := []string{"logs", b.pod.Name, "-c", b.spec.Name}
	if previous {
		words = append(words, "--previous")
	}
	return kubectl(b.pod.Namespace, words...)
}
