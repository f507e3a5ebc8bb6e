package readiness

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// startGrace is how long a container may fail to start for a reason that may yet pass:
	// a registry is back soon, or a ConfigMap is created. The kubelet tries at 0, 10, 30
	// and 70 seconds.
	startGrace = time.Minute
	// crashGrace and crashes say when a crash loop counts as lasting. The kubelet waits 10
	// seconds, then twice as long each time, up to 5 minutes, and starts over once a
	// container has run for 10 minutes. So a container that was restarted this often and
	// has waited this long has crashed at least three times in a row.
	crashGrace = 20 * time.Second
	crashes    = 3
	// unknownGrace is for a crash loop whose last crash has no time.
	unknownGrace = 90 * time.Second
)

// evaluateContainers finds the container that keeps a Pod from starting. One that has
// failed takes precedence over one that may still start.
func evaluateContainers(s *subject) (Verdict, bool) {
	var first *Verdict
	for _, list := range []string{"status.initContainerStatuses", "status.containerStatuses"} {
		for _, c := range s.maps(list) {
			v, stuck := evaluateContainer(s, list, c)
			if stuck && (first == nil || v.Failed && !first.Failed) {
				first = &v
			}
		}
	}
	if first == nil {
		return Verdict{}, false
	}
	return *first, true
}

func evaluateContainer(s *subject, list string, c map[string]any) (Verdict, bool) {
	name, why := textAt(c, "name"), textAt(c, "state.waiting.reason")
	path := "self." + list + `[name="` + name + `"]`
	v := unmet(why, fmt.Sprintf("container %s does not start", name)+
		statusCondition{reason: why, message: textAt(c, "state.waiting.message")}.detail(),
		Value{Expr: path + ".state.waiting.reason", Value: why})
	crashed := timeAt(c, "lastState.terminated.finishedAt")
	switch why {
	case "CrashLoopBackOff":
		return evaluateCrashLoop(s, v, c, path), true
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
		"CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return s.lasting(latest(podStart(s), s.condition("ContainersReady").when, crashed), startGrace, v), true
	}
	return Verdict{}, false
}

// lastCrash finds a container that is not ready and has crashed before: between two
// crashes it runs, and its status shows no waiting.
func lastCrash(s *subject) (Verdict, bool) {
	for _, list := range []string{"status.initContainerStatuses", "status.containerStatuses"} {
		for _, c := range s.maps(list) {
			restarts, _ := wholeAt(c, "restartCount")
			ready, _ := c["ready"].(bool)
			code, ended := wholeAt(c, "state.terminated.exitCode")
			if !ready && (restarts > 0 || ended && code != 0) {
				return crashOf(Verdict{}, c, "self."+list+`[name="`+textAt(c, "name")+`"]`), true
			}
		}
	}
	return Verdict{}, false
}

// waiting returns why the first container that waits does, for a Pod of which nothing else
// is known.
func waiting(s *subject) string {
	for _, list := range []string{"status.initContainerStatuses", "status.containerStatuses"} {
		for _, c := range s.maps(list) {
			why, message := textAt(c, "state.waiting.reason"), textAt(c, "state.waiting.message")
			if why != "" && (message != "" || why != "ContainerCreating" && why != "PodInitializing") {
				return "; container " + textAt(c, "name") + " waits" + statusCondition{reason: why, message: message}.detail()
			}
		}
	}
	return ""
}

// crashOf adds to a verdict that a container crashed, how often, and with which exit code.
func crashOf(v Verdict, c map[string]any, path string) Verdict {
	restarts, counts := wholeAt(c, "restartCount")
	v.Message = fmt.Sprintf("container %s has crashed, after %s", textAt(c, "name"), text.Count(int(restarts), "restart"))
	v.Values = append(v.Values, Value{Expr: path + ".restartCount", Value: restarts, Absent: !counts})
	for _, state := range []string{"state", "lastState"} {
		if code, ended := wholeAt(c, state+".terminated.exitCode"); ended {
			v.Message += fmt.Sprintf(", exit code %d", code)
			if why := textAt(c, state+".terminated.reason"); why != "" && why != "Error" {
				v.Message += " (" + why + ")"
			}
			v.Values = append(v.Values, Value{Expr: path + "." + state + ".terminated.exitCode", Value: code})
			break
		}
	}
	return v
}

// evaluateCrashLoop completes a verdict on a container that crashed.
func evaluateCrashLoop(s *subject, v Verdict, c map[string]any, path string) Verdict {
	restarts, _ := wholeAt(c, "restartCount")
	v = crashOf(v, c, path)
	crashed := timeAt(c, "lastState.terminated.finishedAt")
	if crashed.IsZero() {
		return s.lasting(podStart(s), unknownGrace, v)
	}
	if restarts < crashes {
		return v // No recheck: the next crash changes the object.
	}
	return s.lasting(crashed, crashGrace, v)
}

// podStart returns the time at which the kubelet accepted the Pod.
func podStart(s *subject) time.Time {
	return latest(s.time("status.startTime"), s.time("metadata.creationTimestamp"))
}
