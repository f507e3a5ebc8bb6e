package readiness

import "testing"

func TestReadyPod(t *testing.T) {
	pod := func(status string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: p, creationTimestamp: "2026-01-01T11:00:00Z"}, status: {` + status + `}}`
	}
	unscheduled := func(since, more string) string {
		return pod(`phase: Pending` + more + `, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes fit", lastTransitionTime: "` + since + `"}]`)
	}
	testReady(t, map[string]readyCase{
		"one of two containers": {
			object: pod(`phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: a, ready: true}, {name: b, ready: false}]`),
			want:   "not ready, InProgress: 1 of 2 containers ready",
			rests:  []string{"self.status.phase: Running", `self.status.conditions[type="Ready"].status: False`},
		},
		"a readiness gate": {
			object: pod(`phase: Running, conditions: [{type: Ready, status: "False", reason: ReadinessGatesNotReady}], containerStatuses: [{name: a, ready: true}]`),
			want:   "not ready, InProgress: it is not ready (ReadinessGatesNotReady)",
		},
		"between two crashes": {
			object: pod(`phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady}], containerStatuses: [{name: a, ready: true}, {name: b, ready: false, restartCount: 4, state: {running: {}}, lastState: {terminated: {exitCode: 137}}}]`),
			want:   "not ready, InProgress: 1 of 2 containers ready; container b crashed after 4 restarts, exit code 137",
			rests:  []string{`self.status.conditions[type="Ready"].status: False`, `self.status.containerStatuses[name="b"].restartCount: 4`, `self.status.containerStatuses[name="b"].lastState.terminated.exitCode: 137`},
		},
		"just crashed": {
			object: pod(`phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: b, ready: false, restartCount: 0, state: {terminated: {exitCode: 1}}}]`),
			want:   "not ready, InProgress: 0 of 1 containers ready; container b crashed after 0 restarts, exit code 1",
		},
		"failed": {
			object: pod(`phase: Failed, reason: Evicted, message: the node was low on memory`),
			want:   "failed, PodFailed: it has failed (Evicted): the node was low on memory",
		},
		"failed, and only a container says why": {
			object: pod(`phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: b, state: {terminated: {exitCode: 1, reason: OOMKilled}}}]`),
			want:   "failed, PodFailed: it has failed: container b, exit code 1 (OOMKilled)",
			rests:  []string{"self.status.phase: Failed", `self.status.containerStatuses[name="b"].state.terminated.exitCode: 1`},
		},
		"failed in an init container": {
			object: pod(`phase: Failed, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 2, reason: Error}}}], containerStatuses: [{name: a, state: {waiting: {reason: PodInitializing}}}]`),
			want:   "failed, PodFailed: it has failed: container i, exit code 2",
		},
		"failed, and a sidecar was killed after that": {
			object: pod(`phase: Failed, initContainerStatuses: [{name: sidecar, state: {terminated: {exitCode: 137, reason: Error}}}], containerStatuses: [{name: a, state: {terminated: {exitCode: 3, reason: Error}}}]`),
			want:   "failed, PodFailed: it has failed: container a, exit code 3",
		},
		"failed, and nothing says why": {
			object: pod(`phase: Failed`),
			want:   "failed, PodFailed: it has failed",
		},
		"completed": {
			object: pod(`phase: Succeeded`),
			want:   "ready, Ready: it has completed successfully",
		},
		"edge case 52: unschedulable for 5 s": {
			object: unscheduled("2026-01-01T11:59:55Z", ""),
			want:   "not ready, Unschedulable: it has no node (Unschedulable): 0/1 nodes fit [again in 10s]",
			rests:  []string{"self.status.phase: Pending", `self.status.conditions[type="PodScheduled"].status: False`},
		},
		"edge case 52: unschedulable for 15 s": {
			object: unscheduled("2026-01-01T11:59:45Z", ""),
			want:   "failed, Unschedulable: it has no node (Unschedulable): 0/1 nodes fit",
		},
		"edge case 52: unschedulable at an unknown time": {
			object: unscheduled("2026-01-01T10:00:00Z", ""), timeless: true,
			want: "not ready, Unschedulable: it has no node (Unschedulable): 0/1 nodes fit",
		},
		"unschedulable, by a clock that is ahead": {
			object: unscheduled("2026-01-01T12:10:00Z", ""),
			want:   "not ready, Unschedulable: it has no node (Unschedulable): 0/1 nodes fit [again in 15s]",
		},
		"with a nominated node": {
			object: unscheduled("2026-01-01T11:00:00Z", ", nominatedNodeName: node-1"),
			want:   "not ready, Unschedulable: it has no node (Unschedulable): 0/1 nodes fit",
		},
		"gated": {
			object: pod(`phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]`),
			want:   "not ready, SchedulingGated: it has no node (SchedulingGated)",
		},
		"starting": {
			object: pod(`phase: Pending, containerStatuses: [{name: a, ready: false, state: {waiting: {reason: ContainerCreating}}}]`),
			want:   "not ready, InProgress: 0 of 1 containers ready",
		},
	})
}

func TestReadyContainer(t *testing.T) {
	pod := func(since, containers string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: p, creationTimestamp: "2026-01-01T10:00:00Z"}, status: {phase: Pending,
  startTime: "2026-01-01T10:00:01Z", conditions: [{type: ContainersReady, status: "False", lastTransitionTime: "` + since + `"}], ` + containers + `}}`
	}
	waits := func(reason string) string {
		return `containerStatuses: [{name: ok, ready: true}, {name: app, restartCount: 0, state: {waiting: {reason: ` + reason + `, message: "as it says"}}}]`
	}
	crashed := func(at, restarts string) string {
		return pod("2026-01-01T10:00:00Z", `containerStatuses: [{name: app, restartCount: `+restarts+`, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2, finishedAt: "`+at+`"}}}]`)
	}
	const early, late = "2026-01-01T11:59:30Z", "2026-01-01T11:59:00Z"
	testReady(t, map[string]readyCase{
		"ErrImagePull for 30 s": {
			object: pod(early, waits("ErrImagePull")),
			want:   "not ready, ErrImagePull: container app does not start (ErrImagePull): as it says [again in 30s]",
		},
		"ImagePullBackOff for 60 s": {
			object: pod(late, waits("ImagePullBackOff")),
			want:   "failed, ImagePullBackOff: container app does not start (ImagePullBackOff): as it says",
			rests:  []string{`self.status.containerStatuses[name="app"].state.waiting.reason: ImagePullBackOff`},
		},
		"CreateContainerConfigError for 60 s": {
			object: pod(late, waits("CreateContainerConfigError")),
			want:   "failed, CreateContainerConfigError: container app does not start (CreateContainerConfigError): as it says",
		},
		"at an unknown time": {
			object: pod(late, waits("ErrImagePull")), timeless: true,
			want: "not ready, ErrImagePull: container app does not start (ErrImagePull): as it says",
		},
		"an init container": {
			object: pod(late, `initContainerStatuses: [{name: init, state: {waiting: {reason: ErrImagePull}}}]`),
			want:   "failed, ErrImagePull: container init does not start (ErrImagePull)",
		},
		"one container may still start, another has failed": {
			object: pod(late, `containerStatuses: [{name: a, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {finishedAt: "`+early+`"}}}, {name: b, state: {waiting: {reason: ErrImagePull}}}]`),
			want:   "failed, ErrImagePull: container b does not start (ErrImagePull)",
		},
		"the first crash": {
			object: crashed("2026-01-01T11:59:52Z", "1"),
			want:   "not ready, CrashLoopBackOff: container app crashed after 1 restart, exit code 2",
		},
		"a crash loop, a moment after a crash": {
			object: crashed("2026-01-01T11:59:45Z", "3"),
			want:   "not ready, CrashLoopBackOff: container app crashed after 3 restarts, exit code 2 [again in 5s]",
		},
		"a crash loop": {
			object: crashed("2026-01-01T11:59:40Z", "3"),
			want:   "failed, CrashLoopBackOff: container app crashed after 3 restarts, exit code 2",
			rests: []string{
				`self.status.containerStatuses[name="app"].state.waiting.reason: CrashLoopBackOff`,
				`self.status.containerStatuses[name="app"].restartCount: 3`,
				`self.status.containerStatuses[name="app"].lastState.terminated.exitCode: 2`,
			},
		},
		"a crash loop at an unknown time": {
			object: crashed("2026-01-01T11:00:00Z", "30"), timeless: true,
			want: "not ready, CrashLoopBackOff: container app crashed after 30 restarts, exit code 2",
		},
	})
}
