package readiness

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// scheduleGrace is how long a Pod may be unschedulable before it counts as failed. A new Pod is
// unschedulable until its volumes and its node exist. The value equals kstatus's ScheduleWindow.
const scheduleGrace = 15 * time.Second

func evaluatePod(s *subject) Verdict {
	phase, ready := s.text("status.phase"), s.condition("Ready")
	switch {
	case phase == "":
		return unmet("NoStatus", "it has no phase yet", s.values("status.phase")...)
	case phase == "Succeeded":
		return met("it has completed successfully", s.values("status.phase")...)
	case phase == "Failed":
		return evaluateFailedPod(s)
	case ready.is("True"):
		return met("it is ready", ready.value())
	}
	if v, stuck := evaluateContainers(s); stuck {
		return v
	}
	if c := s.condition("PodScheduled"); c.is("False") {
		return evaluateUnscheduled(s, c)
	}
	all := s.maps("status.containerStatuses")
	up := 0
	for _, c := range all {
		if is, _ := c["ready"].(bool); is {
			up++
		}
	}
	message := "it is not ready"
	if len(all) > 0 && up < len(all) {
		message = fmt.Sprintf("%d of %d containers ready", up, len(all))
	} else if len(all) > 0 {
		message += ready.detail() // A readiness gate is not True.
	}
	if last, crashed := lastCrash(s); crashed {
		return unmet("InProgress", message+"; "+last.Message, append([]Value{ready.value()}, last.Values...)...)
	}
	return unmet("InProgress", message+waiting(s), append(s.values("status.phase"), ready.value())...)
}

// evaluateFailedPod names the container whose exit failed the Pod, unless the Pod itself says why it
// failed. A container with an exit code of 0 did not.
func evaluateFailedPod(s *subject) Verdict {
	values := s.values("status.phase")
	if message := podMessage(s); message != "" {
		return failed("PodFailed", "it has failed"+message, append(values, s.values("status.reason")...)...)
	}
	// A sidecar, which is an init container, may also end with an error once the others have ended.
	for _, list := range []string{"status.containerStatuses", "status.initContainerStatuses"} {
		for _, c := range s.maps(list) {
			path := "self." + list + `[name="` + textAt(c, "name") + `"]`
			if exit, value, failing := failedExit(c, path); failing {
				return failed("PodFailed", "it has failed: container "+textAt(c, "name")+", "+exit, append(values, value)...)
			}
		}
	}
	return failed("PodFailed", "it has failed", values...)
}

// failedExit describes the last exit of a container whose status has the given path, if the exit
// code is not 0.
func failedExit(c map[string]any, path string) (exit string, value Value, failing bool) {
	for _, state := range []string{"state", "lastState"} {
		if code, ended := wholeAt(c, state+".terminated.exitCode"); ended {
			exit = fmt.Sprintf("exit code %d", code)
			if why := textAt(c, state+".terminated.reason"); why != "" && why != "Error" {
				exit += " (" + why + ")"
			}
			return exit, Value{Expr: path + "." + state + ".terminated.exitCode", Value: code}, code != 0
		}
	}
	return "", Value{}, false
}

func podMessage(s *subject) string {
	return statusCondition{reason: s.text("status.reason"), message: s.text("status.message")}.detail()
}

func evaluateUnscheduled(s *subject, c statusCondition) Verdict {
	v := unmet(c.reason, "it has no node"+c.detail(), append(s.values("status.phase"), c.value())...)
	if c.reason == "" {
		v.Reason = "InProgress"
	}
	// If a node is nominated, the scheduler is evicting other Pods from it to free capacity.
	if c.reason != "Unschedulable" || s.text("status.nominatedNodeName") != "" {
		return v
	}
	return s.lasting(latest(s.time("metadata.creationTimestamp"), c.when), scheduleGrace, v)
}

const (
	// startGrace is how long a container may fail to start for a transient reason, such as a
	// registry outage. The kubelet tries at 0, 10, 30 and 70 seconds.
	startGrace = time.Minute
	// A crash loop counts as lasting if the container has restarted at least three times (crashes),
	// and has then waited for crashGrace. The kubelet waits 10 seconds before the first restart,
	// then twice as long each time, up to 5 minutes. It starts over once a container has run for 10
	// minutes. So a container that waits this long has crashed at least three times in a row.
	crashGrace = 20 * time.Second
	crashes    = 3
	// unknownGrace is used instead of crashGrace if the time of the last crash is unknown.
	unknownGrace = 90 * time.Second
)

// evaluateContainers returns the verdict on the first container that is stuck, or false if no
// container is stuck. A container that has failed takes precedence over one that may still start.
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

// lastCrash finds a container that has crashed before and is not ready. Between two crashes, the
// container is running, so its status gives no reason for waiting.
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

// waiting describes why a container is waiting. It is used if there is no other known reason why
// the Pod is not ready.
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

func crashOf(v Verdict, c map[string]any, path string) Verdict {
	restarts, counts := wholeAt(c, "restartCount")
	v.Message = fmt.Sprintf("container %s crashed after %s", textAt(c, "name"), text.Count(int(restarts), "restart"))
	v.Values = append(v.Values, Value{Expr: path + ".restartCount", Value: restarts, Absent: !counts})
	if exit, value, _ := failedExit(c, path); exit != "" {
		v.Message += ", " + exit
		v.Values = append(v.Values, value)
	}
	return v
}

func evaluateCrashLoop(s *subject, v Verdict, c map[string]any, path string) Verdict {
	restarts, _ := wholeAt(c, "restartCount")
	v = crashOf(v, c, path)
	crashed := timeAt(c, "lastState.terminated.finishedAt")
	if crashed.IsZero() {
		return s.lasting(podStart(s), unknownGrace, v)
	}
	if restarts < crashes {
		return v // The next crash changes the object.
	}
	return s.lasting(crashed, crashGrace, v)
}

func podStart(s *subject) time.Time {
	return latest(s.time("status.startTime"), s.time("metadata.creationTimestamp"))
}

// autoscalerConditions is the annotation that contains an autoscaler's conditions at
// autoscaling/v1, where the status has none (edge case 96).
const autoscalerConditions = "autoscaling.alpha.kubernetes.io/conditions"

// evaluateAutoscaler also accepts an autoscaler that has nothing to do because its target is scaled
// to zero.
func evaluateAutoscaler(s *subject) Verdict {
	s = withConditionsOfV1(s)
	able, active := s.condition("AbleToScale"), s.condition("ScalingActive")
	switch {
	case active.is("False") && active.reason == "ScalingDisabled":
		return met("its target is scaled to zero", active.value())
	case able.is("True") && active.is("True"):
		return met("it scales", able.value(), active.value())
	case !able.exists():
		return unmet("NoStatus", "no controller has handled it yet", able.value())
	case !able.is("True"):
		return unmet("InProgress", "it cannot scale"+able.detail(), able.value())
	}
	return unmet("InProgress", "it does not scale"+active.detail(), active.value())
}

// withConditionsOfV1 reads the conditions from the annotation, unless the status has conditions.
func withConditionsOfV1(s *subject) *subject {
	annotations, _ := at(s.obj, "metadata.annotations")
	all, _ := annotations.(map[string]any)
	text, _ := all[autoscalerConditions].(string)
	var list []any
	if len(s.conditions) > 0 || json.Unmarshal([]byte(text), &list) != nil {
		return s
	}
	out := *s
	out.conditions = conditionsAt(map[string]any{"conditions": list}, s.generation, "conditions")
	for i := range out.conditions {
		out.conditions[i].path = `metadata.annotations["` + autoscalerConditions + `"]`
	}
	return &out
}
