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

// initContainers explains only the init container that blocks the others, because they run one after the
// other. A sidecar blocks until it has started.
func (v Rules) initContainers(p *corev1.Pod) []rule.Finding {
	for _, b := range ContainersOf(p, p.Spec.InitContainers, p.Status.InitContainerStatuses, "init container") {
		s := b.Status
		switch {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 && !b.sidecar():
			continue
		case b.sidecar() && s.Started != nil && *s.Started && s.Ready:
			continue
		}
		found := v.container(b)
		if len(found) == 0 && s.State.Running != nil && !b.sidecar() {
			found = []rule.Finding{v.initRunning(b)}
		}
		if len(found) > 0 || !b.sidecar() {
			return found
		}
	}
	return nil
}

func (v Rules) initRunning(b Container) rule.Finding {
	return rule.Of(b.pod, rule.Waits, event.Cause{
		Code:     "InitContainerRunning",
		Message:  b.role + " is still running; later containers wait for it",
		Evidence: []string{"Pod " + b.pod.Name + ": it has been running" + v.Since(b.Status.State.Running.StartedAt)},
		Next:     b.logs(false),

		Container: b.instance(false),
	})
}

func (v Rules) containers(p *corev1.Pod) []rule.Finding {
	var found []rule.Finding
	for _, b := range ContainersOf(p, p.Spec.Containers, p.Status.ContainerStatuses, "container") {
		found = append(found, v.container(b)...)
	}
	return found
}

func (v Rules) container(b Container) []rule.Finding {
	s := b.Status
	switch {
	case s.State.Waiting != nil:
		return v.waiting(b, s.State.Waiting)
	case s.State.Terminated != nil:
		if s.State.Terminated.ExitCode == 0 && b.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
			return nil
		}
		return []rule.Finding{v.terminated(b, s.State.Terminated)}
	case s.Ready:
		return nil
	case s.State.Running != nil && s.RestartCount > 1 && v.recent(s.LastTerminationState.Terminated):
		return []rule.Finding{v.terminated(b, s.LastTerminationState.Terminated)} // It is running between two crashes.
	case s.State.Running != nil:
		return v.probes(b)
	}
	return nil
}

func (v Rules) waiting(b Container, w *corev1.ContainerStateWaiting) []rule.Finding {
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return nil
	case "CrashLoopBackOff":
		if t := b.Status.LastTerminationState.Terminated; t != nil {
			return []rule.Finding{v.terminated(b, t)}
		}
		return []rule.Finding{rule.Of(b.pod, rule.Exits, event.Cause{
			Code:     "ContainerCrash",
			Message:  b.role + " exits each time it starts (CrashLoopBackOff)",
			Evidence: rule.Distinct([]string{text.Excerpt(w.Message)}),
			Next:     b.logs(true),

			Container: b.instance(true),
		})}
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable", "SignatureValidationFailed", "ErrInvalidImageName":
		return []rule.Finding{v.pulling(b, w)}
	case "CreateContainerConfigError":
		return []rule.Finding{rule.Of(b.pod, rule.Direct, event.Cause{
			Code:     "ContainerConfigError",
			Message:  b.role + " cannot be created as specified: " + text.Excerpt(strings.Split(w.Message, " (pod: ")[0]),
			Evidence: []string{"Pod " + b.pod.Name + ": waiting, CreateContainerConfigError"},
			Next:     rule.Kubectl(b.pod.Namespace, "describe", "pod", b.pod.Name),
		})}
	default: // CreateContainerError, RunContainerError, PostStartHookError…
		evidence := []string{"Pod " + b.pod.Name + ": waiting, " + text.Excerpt(w.Reason) + ": " + text.Excerpt(w.Message)}
		if t := b.Status.LastTerminationState.Terminated; t != nil {
			evidence = append(evidence, b.exitWords(t, v.Now)...)
		}
		return []rule.Finding{rule.Of(b.pod, rule.Direct, event.Cause{
			Code:     "ContainerNotStarted",
			Message:  b.role + " cannot be started (" + text.Excerpt(w.Reason) + ")",
			Evidence: evidence,
			Next:     rule.Kubectl(b.pod.Namespace, "describe", "pod", b.pod.Name),
		})}
	}
}

// A container that exited recently will probably exit again. The kubelet waits at most five minutes
// before a restart, and resets this back-off after ten minutes.
func (v Rules) recent(t *corev1.ContainerStateTerminated) bool {
	if t == nil {
		return false
	}
	return v.Now.IsZero() || t.FinishedAt.IsZero() || v.Now.Sub(t.FinishedAt.Time) < 10*time.Minute
}

// terminated tries the more certain causes first. Only the kubelet's Event shows that a probe has killed the
// container; the exit code does not.
func (v Rules) terminated(b Container, t *corev1.ContainerStateTerminated) rule.Finding {
	previous := b.Status.State.Terminated == nil
	c := event.Cause{Code: "ContainerCrash", Evidence: b.exitWords(t, v.Now), Next: b.logs(previous), Container: b.instance(previous)}
	again := " each time it starts"
	if b.Status.RestartCount == 0 {
		again = ""
	}
	killed := v.WarningAbout(b.pod, "Unhealthy", func(e *corev1.Event) bool {
		return b.concerns(e) && (strings.HasPrefix(e.Message, "Liveness") || strings.HasPrefix(e.Message, "Startup"))
	})
	rank := rule.Exits
	switch {
	case t.Reason == "OOMKilled":
		rank, c.Code = rule.Direct, "OOMKilled"
		c.Message = b.role + " is killed because its node is short of memory (OOMKilled); it has no memory limit"
		if limit, ok := b.Spec.Resources.Limits[corev1.ResourceMemory]; ok {
			c.Message = b.role + " is killed because it uses more memory than its limit of " + limit.String() + " (OOMKilled)"
		}
	case t.ExitCode == 126, t.ExitCode == 127, t.Reason == "StartError", t.Reason == "ContainerCannotRun":
		rank, c.Code = rule.Direct, "CommandNotFound"
		c.Message = fmt.Sprintf("%s cannot run its command (exit code %d): it is not in the image, or not executable", b.role, t.ExitCode)
		if command := slices.Concat(b.Spec.Command, b.Spec.Args); len(command) > 0 {
			c.Evidence = append(c.Evidence, "command: "+text.Excerpt(strings.Join(command, " ")))
		}
	case killed != nil && t.ExitCode != 0:
		c.Code = "ProbeKills"
		c.Message = b.role + " is killed and restarted because its probe fails"
		c.Evidence = append(c.Evidence, rule.Quoted(killed)...)
		c.Next = rule.Kubectl(b.pod.Namespace, "describe", "pod", b.pod.Name)
	case t.ExitCode == 0:
		c.Code = "ContainerExits"
		c.Message = b.role + " exits with code 0, although it should keep running"
	default:
		c.Message = fmt.Sprintf("%s exits with code %d%s%s", b.role, t.ExitCode, signal(t), again)
	}
	return rule.Of(b.pod, rank, c)
}

// A shell reports a signal as 128 plus its number.
func signal(t *corev1.ContainerStateTerminated) string {
	n := t.Signal
	if n == 0 && t.ExitCode > 128 && t.ExitCode < 160 {
		n = t.ExitCode - 128
	}
	if n == 0 {
		return ""
	}
	if name := map[int32]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
		9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM",
	}[n]; name != "" {
		return fmt.Sprintf(" (signal %d, %s)", n, name)
	}
	return fmt.Sprintf(" (signal %d)", n)
}

func (v Rules) probes(b Container) []rule.Finding {
	kind, code := "readiness", "ReadinessProbeFailing"
	probe := b.Spec.ReadinessProbe
	if b.Spec.StartupProbe != nil && (b.Status.Started == nil || !*b.Status.Started) {
		kind, code, probe = "startup", "StartupProbeFailing", b.Spec.StartupProbe
	}
	if probe == nil {
		return nil
	}
	e := v.WarningAbout(b.pod, "Unhealthy", func(e *corev1.Event) bool {
		return b.concerns(e) && strings.HasPrefix(strings.ToLower(e.Message), kind)
	})
	c := event.Cause{
		Code:     code,
		Message:  b.role + " is running, but its " + kind + " probe fails",
		Evidence: append([]string{"Pod " + b.pod.Name + ": probe " + asked(probe)}, rule.Quoted(e)...),
		Next:     b.logs(false),

		Container: b.instance(false),
	}
	if e == nil {
		c.Message = b.role + " is running, but its " + kind + " probe has not succeeded yet"
	}
	return []rule.Finding{rule.Of(b.pod, rule.Answers, c)}
}

func asked(p *corev1.Probe) string {
	message := ""
	switch {
	case p.HTTPGet != nil:
		message = "GET " + p.HTTPGet.Path + " at port " + p.HTTPGet.Port.String()
	case p.TCPSocket != nil:
		message = "connect to port " + p.TCPSocket.Port.String()
	case p.GRPC != nil:
		message = fmt.Sprint("gRPC at port ", p.GRPC.Port)
	case p.Exec != nil:
		message = "run " + strings.Join(p.Exec.Command, " ")
	}
	return text.Excerpt(fmt.Sprintf("%s, every %d s, timeout %d s", message, p.PeriodSeconds, p.TimeoutSeconds))
}

// Container is one container of a Pod.
type Container struct {
	pod    *corev1.Pod
	Spec   corev1.Container
	Status corev1.ContainerStatus
	role   string
}

// ContainersOf returns containers with their statuses. It omits containers that the node has not
// handled yet.
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

func (b Container) exitWords(t *corev1.ContainerStateTerminated, now time.Time) []string {
	message := fmt.Sprintf("Pod %s: exit code %d", b.pod.Name, t.ExitCode)
	if t.Reason != "" {
		message += " (" + text.Excerpt(t.Reason) + ")"
	}
	if !t.FinishedAt.IsZero() {
		message += " at " + clock(t.FinishedAt.UTC(), now.UTC())
	}
	message += ", " + text.Count(int(b.Status.RestartCount), "restart")
	out := []string{message}
	for _, line := range lastLines(t.Message, 3) {
		out = append(out, "termination message: "+line)
	}
	return out
}

func clock(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05Z")
	}
	return t.Format("2006-01-02 15:04:05Z")
}

func (b Container) concerns(e *corev1.Event) bool {
	path := e.InvolvedObject.FieldPath
	return path == "" || strings.HasSuffix(path, "{"+b.Spec.Name+"}")
}

func (b Container) instance(previous bool) event.Container {
	return event.Container{Namespace: b.pod.Namespace, Pod: b.pod.Name, Name: b.Spec.Name, Previous: previous}
}

func (b Container) logs(previous bool) string {
	words := []string{"logs", b.pod.Name, "-c", b.Spec.Name}
	if previous {
		words = append(words, "--previous")
	}
	return rule.Kubectl(b.pod.Namespace, words...)
}

func lastLines(s string, n int) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = text.Excerpt(line); line != "" {
			out = append(out, line)
		}
	}
	return out[max(0, len(out)-n):]
}
