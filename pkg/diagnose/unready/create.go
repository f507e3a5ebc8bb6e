package unready

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// enforcedLevel is the label of a namespace that says which Pods it admits.
const enforcedLevel = "pod-security.kubernetes.io/enforce"

// workload is the common part of all creators of Pods.
type workload struct {
	ref      object.Ref
	object   metav1.Object
	template corev1.PodSpec
	// selector selects its Pods, if they have to be read.
	selector string
	// short: there are fewer Pods than there should be.
	short bool
	// refusal is the server's answer to an attempt to create a Pod, if the status has it, and
	// refusedAt when it was recorded. Controllers keep the first answer in the status; later ones
	// are in events.
	refusal   string
	refusedAt time.Time
	// replaced reports whether the controller will replace a Pod in due course, whatever its state;
	// nil if it replaces none.
	replaced func(*corev1.Pod) bool
}

// refused explains why Pods (or a CronJob's Jobs) are not created. Controllers keep the API
// server's answer only as text.
func (v *rules) refused(w workload) []rule.Finding {
	if !w.short {
		return nil
	}
	e := v.Warning(w.object, "FailedCreate")
	var c event.Cause
	switch {
	case w.refusal == "" && e == nil:
		return nil
	case w.refusal == "":
		c = v.refusal(w, e.Message, "event FailedCreate: ", rule.LastSeen(e))
	default:
		c = v.refusal(w, w.refusal, "condition ReplicaFailure: ", w.refusedAt)
		if e == nil {
			break
		}
		last := v.refusal(w, e.Message, "event FailedCreate: ", rule.LastSeen(e))
		switch {
		case last.Code == c.Code && last.BlockedBy == c.BlockedBy:
			c.Age = min(c.Age, last.Age)
		case last.Age < c.Age:
			c = last
		}
	}
	return []rule.Finding{{Cause: c, Rank: rule.Root}}
}

// refusal returns the cause for a refusal that a controller recorded at a time. The rule finds out
// whether the server would refuse now.
func (v *rules) refusal(w workload, said, from string, at time.Time) event.Cause {
	c := event.Cause{
		Code:     "CreateRefused",
		Message:  "Pods of " + rule.Name(w.ref) + " are refused: " + text.Excerpt(said),
		Evidence: []string{from + text.Excerpt(said)},
		Next:     rule.Describe(w.ref),
		Hearsay:  true,
		Age:      math.MaxInt64,
	}
	if !at.IsZero() && !v.Now.IsZero() {
		c.Age = max(0, v.Now.Sub(at))
	}
	for _, rule := range []func(workload, string, *event.Cause) bool{
		v.quota, v.serviceAccount, v.podSecurity, v.webhook, policy, limitRange, v.priority,
	} {
		if rule(w, said, &c) {
			break
		}
	}
	return c
}

// after returns the text between two others.
func after(said, begin, end string) (string, bool) {
	_, rest, ok := strings.Cut(said, begin)
	if !ok {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, end)
	return text.Excerpt(rest), rest != ""
}

func (v *rules) quota(w workload, said string, c *event.Cause) bool {
	ns := w.ref.Namespace
	quota, full := after(said, "exceeded quota: ", ", ")
	if full {
		c.Code = "QuotaExceeded"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused: ResourceQuota " + quota + " of namespace " + ns + " is used up"
	} else if quota, full = after(said, "failed quota: ", ": "); full {
		c.Code = "QuotaNeedsResources"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused: ResourceQuota " + quota + " of namespace " + ns + " requires every container to state its resources"
	} else {
		return false
	}
	c.BlockedBy = diagnose.RefOf("v1", "ResourceQuota", ns, quota)
	c.Next = rule.Describe(c.BlockedBy)
	if requested, ok := after(said, "requested: ", ", used: "); ok {
		c.Evidence = append(c.Evidence, "requested: "+requested)
	}
	if q := rule.Lookup[corev1.ResourceQuota](v.View, c.BlockedBy); q != nil {
		var full []string
		for resource, hard := range q.Status.Hard {
			used := q.Status.Used[resource]
			full = append(full, text.Excerpt(string(resource))+" "+used.String()+" of "+hard.String())
		}
		if slices.Sort(full); len(full) > 0 {
			c.Evidence = append(c.Evidence, "used: "+text.List(full, 6))
		}
	}
	return true
}

func (v *rules) serviceAccount(w workload, said string, c *event.Cause) bool {
	account := w.template.ServiceAccountName
	if account == "" {
		account = "default"
	}
	r := diagnose.RefOf("v1", "ServiceAccount", w.ref.Namespace, account)
	switch {
	case v.Absent(r):
		c.Hearsay = false
	case !strings.Contains(said, "error looking up service account "):
		return false
	case v.There(r):
		c.Message = overcome(w, r)
		return true
	}
	c.Code = "ServiceAccountMissing"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused: " + rule.Name(r) + " does not exist"
	c.Next = rule.Kubectl(r.Namespace, "create", "serviceaccount", account)
	c.Risk = "the new account has no permissions until a role is bound to it"
	c.BlockedBy = r
	return true
}

func (v *rules) podSecurity(w workload, said string, c *event.Cause) bool {
	level, ok := after(said, `violates PodSecurity "`, `"`)
	if !ok {
		return false
	}
	then, _, _ := strings.Cut(level, ":")
	if ns := rule.Lookup[corev1.Namespace](v.View, diagnose.RefOf("v1", "Namespace", "", w.ref.Namespace)); ns != nil {
		now := ns.Labels[enforcedLevel]
		c.Hearsay = now != then
		if now != "" && now != then {
			c.Message = "Pods of " + rule.Name(w.ref) + " were refused while namespace " + w.ref.Namespace + " enforced the Pod security level " + level +
				"; it enforces " + text.Excerpt(now) + " now, and their controller will try again"
			return true
		}
	}
	c.Code = "PodSecurityViolation"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused: namespace " + w.ref.Namespace + " enforces the Pod security level " + level
	c.BlockedBy = diagnose.RefOf("v1", "Namespace", "", w.ref.Namespace)
	c.Next = rule.Kubectl("", "get", "namespace", w.ref.Namespace, "--show-labels")
	if _, why, ok := strings.Cut(said, level+`": `); ok {
		checks, details := violations(text.OneLine(why))
		c.Message += ", and they do not comply: " + text.Excerpt(strings.Join(checks, ", "))
		if len(details) > 0 {
			c.Evidence = nil // Whole, it repeats them.
		}
		for _, detail := range details {
			c.Evidence = append(c.Evidence, text.Excerpt(detail))
		}
		if fix := complying(checks); fix != "" {
			c.Next = fix
		}
	}
	return true
}

// complying returns lines for a template with which its Pods pass these checks; empty if none of
// them is about the securityContext.
func complying(checks []string) string {
	var lines []string
	for _, field := range [][2]string{
		{"allowPrivilegeEscalation != false", "allowPrivilegeEscalation: false"},
		{"unrestricted capabilities", "capabilities: {drop: [ALL]}"},
		{"privileged", "privileged: false"},
		{"runAsNonRoot != true", "runAsNonRoot: true"},
		{"seccompProfile", "seccompProfile: {type: RuntimeDefault}"},
	} {
		if slices.Contains(checks, field[0]) {
			lines = append(lines, field[1])
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "paste into each of these containers: securityContext: {" + strings.Join(lines, ", ") + "}"
}

// violations splits the failed Pod security checks: "check (who has to do what), check, …". The
// whole list is too long for one sentence and each has to be mended, so it returns the checks
// alone, and the details of those that have some.
func violations(why string) (checks, details []string) {
	depth, quoted, start := 0, false, 0
	add := func(one string) {
		one = strings.TrimSpace(one)
		check, _, more := strings.Cut(one, " (")
		checks = append(checks, check)
		if more {
			details = append(details, one)
		}
	}
	for i, c := range why {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			add(why[start:i])
			start = i + 1
		}
	}
	add(why[start:])
	return checks, details
}

func (v *rules) webhook(w workload, said string, c *event.Cause) bool {
	hook, denied := after(said, `admission webhook "`, `" denied`)
	if denied {
		c.Code = "WebhookDenied"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused by admission webhook " + hook
	} else if hook, denied = after(said, `failed calling webhook "`, `"`); denied {
		c.Code = "WebhookUnavailable"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused because admission webhook " + hook + " cannot be reached"
	} else {
		return false
	}
	c.Next = rule.Kubectl("", "get", "validatingwebhookconfigurations,mutatingwebhookconfigurations")
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		configurations, _ := v.Select(diagnose.Question{GVK: diagnose.KindOf("admissionregistration.k8s.io/v1", kind)}, every)
		for _, u := range configurations {
			if slices.Contains(webhookNames(u), hook) {
				c.BlockedBy = diagnose.RefOf("admissionregistration.k8s.io/v1", kind, "", u.GetName())
				c.Next = rule.Describe(c.BlockedBy)
			}
		}
	}
	return true
}

func policy(w workload, said string, c *event.Cause) bool {
	policy, ok := after(said, "ValidatingAdmissionPolicy '", "'")
	if !ok {
		return false
	}
	c.Code = "PolicyDenied"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused by ValidatingAdmissionPolicy " + policy
	c.BlockedBy = diagnose.RefOf("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", policy)
	c.Next = rule.Get(c.BlockedBy)
	return true
}

func limitRange(w workload, said string, c *event.Cause) bool {
	if !strings.Contains(said, " usage per ") && !strings.Contains(said, "max limit to request ratio per ") {
		return false
	}
	c.Code = "LimitRangeViolation"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused: they ask for more or less than a LimitRange of namespace " + w.ref.Namespace + " allows"
	c.Next = rule.Kubectl(w.ref.Namespace, "describe", "limitranges")
	return true
}

func (v *rules) priority(w workload, said string, c *event.Cause) bool {
	class, ok := after(said, "no PriorityClass with name ", " was found")
	if !ok {
		return false
	}
	r := diagnose.RefOf("scheduling.k8s.io/v1", "PriorityClass", "", class)
	if v.There(r) {
		c.Message = overcome(w, r)
		return true
	}
	c.Code, c.Hearsay = "PriorityClassMissing", !v.Absent(r)
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused: PriorityClass " + class + " does not exist"
	c.BlockedBy = r
	c.Next = rule.Kubectl("", "get", "priorityclasses")
	return true
}

// overcome says that the reason for a refusal is gone. A refused controller retries after growing
// pauses of up to a quarter of an hour, and its record stays until then.
func overcome(w workload, r object.Ref) string {
	return "Pods of " + rule.Name(w.ref) + " were refused while " + rule.Name(r) + " did not exist; it does now, and their controller will try again"
}

// webhookNames returns the names of the webhooks of a configuration.
func webhookNames(u *unstructured.Unstructured) []string {
	var names []string
	for _, hook := range diagnose.Items(u, "webhooks") {
		name, _ := hook["name"].(string)
		names = append(names, name)
	}
	return rule.Stated(names)
}
