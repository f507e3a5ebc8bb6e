package unready

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// job tells why a Job is not complete.
func (v *view) job(j *batchv1.Job) []finding {
	r := ref(batch("Job"), j.Namespace, j.Name)
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return []finding{{rank: root, Cause: event.Cause{
			Code:      "Suspended",
			Message:   name(r) + " is suspended: it runs no Pods",
			Evidence:  []string{".spec.suspend is true"},
			Next:      kubectl(j.Namespace, "patch", r.Resource(), "--type=merge", "-p", `{"spec":{"suspend":false}}`),
			Risk:      "the Job runs; a queue that suspended it on purpose, such as Kueue, may do so again",
			BlockedBy: r,
		}}}
	}
	w := workload{ref: r, object: j, template: j.Spec.Template.Spec, selector: selectorOf(j.Spec.Selector)}
	w.short = j.Status.Active == 0 && j.Status.Succeeded == 0
	found := v.workload(w, 0)
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget) && c.Status == corev1.ConditionTrue {
			return append(found, jobFailed(j, c))
		}
	}
	return found
}

// jobFailed says why a Job has given up. That its Pods failed, if they still are
// there, comes before it.
func jobFailed(j *batchv1.Job, c batchv1.JobCondition) finding {
	r := ref(batch("Job"), j.Namespace, j.Name)
	cause := event.Cause{
		Code:     "JobFailed",
		Message:  name(r) + " has failed (" + clean(c.Reason) + "), and does not try again",
		Evidence: []string{fmt.Sprintf("condition %s (%s): %s", c.Type, clean(c.Reason), clean(c.Message)), count(int(j.Status.Failed), "Pod") + " failed"},
		Next:     kubectl(j.Namespace, "logs", r.Resource(), "--all-containers", "--tail=50"),
	}
	switch c.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		cause.Code = "JobBackoffLimit"
		limit := int32(6)
		if j.Spec.BackoffLimit != nil {
			limit = *j.Spec.BackoffLimit
		}
		cause.Message = fmt.Sprintf("%s has failed: its Pods failed more often than its backoffLimit of %d allows", name(r), limit)
	case batchv1.JobReasonDeadlineExceeded:
		cause.Code = "JobDeadline"
		cause.Message = name(r) + " has failed: it took longer than its activeDeadlineSeconds"
		if j.Spec.ActiveDeadlineSeconds != nil {
			cause.Message += fmt.Sprintf(" of %s", time.Duration(*j.Spec.ActiveDeadlineSeconds)*time.Second)
		}
		cause.Next = describe(r)
	}
	if j.Status.Failed == 0 {
		cause.Next = describe(r)
	}
	return finding{Cause: cause, rank: consequence}
}

// cronJob says what keeps a CronJob from running.
func (v *view) cronJob(j *batchv1.CronJob) []finding {
	r := ref(batch("CronJob"), j.Namespace, j.Name)
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return []finding{{rank: root, Cause: event.Cause{
			Code:      "Suspended",
			Message:   name(r) + " is suspended: no Job is started at its times",
			Evidence:  []string{".spec.suspend is true"},
			Next:      kubectl(j.Namespace, "patch", r.Resource(), "--type=merge", "-p", `{"spec":{"suspend":false}}`),
			Risk:      "a time that was missed is made up for at once, if startingDeadlineSeconds allows it",
			BlockedBy: r,
		}}}
	}
	var found []finding
	for _, active := range j.Status.Active[:min(3, len(j.Status.Active))] {
		if job := v.find(ref(batch("Job"), j.Namespace, active.Name)); job != nil {
			found = append(found, v.subject(job)...)
		}
	}
	if e := v.warning(j, "FailedCreate", "FailedNeedsStart", "TooManyMissedTimes", "UnparseableSchedule", "UnknownTimeZone", "InvalidSchedule"); e != nil {
		found = append(found, finding{rank: root, Cause: event.Cause{
			Code:      "CronJobNotStarted",
			Message:   name(r) + " can not start its Job (" + clean(e.Reason) + ")",
			Evidence:  quoted(e),
			Next:      describe(r),
			BlockedBy: r,
		}})
	}
	return found
}
