package unready

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (v *rules) job(j *batchv1.Job) []rule.Finding {
	r := diagnose.RefOf("batch/v1", "Job", j.Namespace, j.Name)
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return suspended(r, "it runs no Pods", "the Job starts; if a queue such as Kueue suspended it, the queue may suspend it again")
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

// jobFailed explains why a Job gave up. The faults of its Pods, if they still exist, come first.
func jobFailed(j *batchv1.Job, c batchv1.JobCondition) rule.Finding {
	r := diagnose.RefOf("batch/v1", "Job", j.Namespace, j.Name)
	cause := event.Cause{
		Code:     "JobFailed",
		Message:  rule.Name(r) + " has failed" + readiness.Detail(text.Excerpt(c.Reason), "") + " and will not be retried",
		Evidence: []string{"condition " + string(c.Type) + readiness.Detail(text.Excerpt(c.Reason), text.Excerpt(c.Message)), text.Count(int(j.Status.Failed), "Pod") + " failed"},
		Next:     rule.Kubectl(j.Namespace, "logs", r.Resource(), "--all-containers", "--tail=50"),
	}
	switch c.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		cause.Code = "JobBackoffLimit"
		limit := int32(6)
		if j.Spec.BackoffLimit != nil {
			limit = *j.Spec.BackoffLimit
		}
		cause.Message = fmt.Sprintf("%s has failed: its Pods failed more often than its backoffLimit of %d allows", rule.Name(r), limit)
	case batchv1.JobReasonDeadlineExceeded:
		cause.Code = "JobDeadline"
		cause.Message = rule.Name(r) + " has failed: it took longer than its activeDeadlineSeconds"
		if j.Spec.ActiveDeadlineSeconds != nil {
			cause.Message += fmt.Sprintf(" of %s", time.Duration(*j.Spec.ActiveDeadlineSeconds)*time.Second)
		}
		cause.Next = rule.Describe(r)
	}
	if j.Status.Failed == 0 {
		cause.Next = rule.Describe(r)
	}
	return rule.Finding{Cause: cause, Rank: rule.Consequence}
}

func (v *rules) cronJob(j *batchv1.CronJob) []rule.Finding {
	r := diagnose.RefOf("batch/v1", "CronJob", j.Namespace, j.Name)
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		return suspended(r, "it starts no Jobs", "a missed run starts at once if startingDeadlineSeconds allows it")
	}
	var found []rule.Finding
	for _, active := range j.Status.Active[:min(3, len(j.Status.Active))] {
		if job := v.Find(diagnose.RefOf("batch/v1", "Job", j.Namespace, active.Name)); job != nil {
			found = append(found, v.subject(job)...)
		}
	}
	if e := v.Warning(j, "FailedCreate", "FailedNeedsStart", "TooManyMissedTimes", "UnparseableSchedule", "UnknownTimeZone", "InvalidSchedule"); e != nil {
		found = append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
			Code:      "CronJobNotStarted",
			Message:   rule.Name(r) + " cannot start its Job (" + text.Excerpt(e.Reason) + ")",
			Evidence:  rule.Quoted(e),
			Next:      rule.Describe(r),
			BlockedBy: r,
		}})
	}
	return found
}

func suspended(r object.Ref, effect, risk string) []rule.Finding {
	return []rule.Finding{{Rank: rule.Root, Cause: event.Cause{
		Code:      "Suspended",
		Message:   rule.Name(r) + " is suspended: " + effect,
		Evidence:  []string{".spec.suspend is true"},
		Next:      rule.Kubectl(r.Namespace, "patch", r.Resource(), "--type=merge", "-p", `{"spec":{"suspend":false}}`),
		Risk:      risk,
		BlockedBy: r,
	}}}
}
