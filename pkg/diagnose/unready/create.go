package unready

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type workload struct {
	ref      object.Ref
	object   metav1.Object
	template corev1.PodSpec
	// selector is empty if the Pods have already been read.
	selector string
	// short is set if the workload has fewer Pods than it should have.
	short bool
	// refusal is the server's first refusal to create a Pod. The status has contained it since
	// refusedAt. Later refusals are in events.
	refusal   string
	refusedAt time.Time
	// replaced reports whether the controller will replace a Pod regardless of its state; nil means
	// that it replaces none.
	replaced func(*corev1.Pod) bool
}

// refused explains why the server refuses to create a workload's Pods. The workload may be a Job of
// a CronJob.
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

// refusal returns a cause that explains the refusal. Where possible, it checks whether the server
// would still refuse.
func (v *rules) refusal(w workload, message, from string, at time.Time) event.Cause {
	c := event.Cause{
		Code:     "CreateRefused",
		Message:  "Pods of " + rule.Name(w.ref) + " are refused: " + text.Excerpt(message),
		Evidence: []string{from + text.Excerpt(message)},
		Next:     rule.Describe(w.ref),
		Hearsay:  true,
		Age:      math.MaxInt64,
	}
	if !at.IsZero() && !v.Now.IsZero() {
		c.Age = max(0, v.Now.Sub(at))
	}
	for _, rule := range []func(workload, string, *event.Cause) bool{
		v.quota, v.serviceAccount, v.podSecurity, v.webhook, policy, v.limitRange, v.priority,
	} {
		if rule(w, message, &c) {
			break
		}
	}
	return c
}

// words returns the words after begin, which say why something was refused; "" if there are none.
// They belong in the message: a table shows neither conditions nor events of a known cause.
func words(message, begin string) string {
	_, why, _ := strings.Cut(message, begin)
	if why = strings.TrimSpace(why); why == "" {
		return ""
	}
	return ": " + text.Excerpt(why)
}

func after(message, begin, end string) (string, bool) {
	_, rest, ok := strings.Cut(message, begin)
	if !ok {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, end)
	return text.Excerpt(rest), rest != ""
}

func (v *rules) quota(w workload, message string, c *event.Cause) bool {
	ns, did := w.ref.Namespace, "was used up"
	quota, full := after(message, "exceeded quota: ", ", ")
	if full {
		c.Code = "QuotaExceeded"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused: ResourceQuota " + quota + " in namespace " + ns + " is used up"
	} else if quota, full = after(message, "failed quota: ", ": "); full {
		did = "required every container to set its resources"
		c.Code = "QuotaNeedsResources"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused: ResourceQuota " + quota + " in namespace " + ns + " requires every container to set its resources"
	} else {
		return false
	}
	r := diagnose.RefOf("v1", "ResourceQuota", ns, quota)
	u, sure := v.Read(r)
	if u == nil && sure {
		c.Code = "CreateRefused"
		c.Message = gone(w, "while ResourceQuota "+quota+" in namespace "+ns+" "+did, "it no longer exists")
		return true
	}
	c.BlockedBy, c.Next = r, rule.Describe(r)
	if requested, ok := after(message, "requested: ", ", used: "); ok {
		c.Evidence = append(c.Evidence, "requested: "+requested)
	}
	if q, ok := rule.As[corev1.ResourceQuota](v.View, u); ok {
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

func (v *rules) serviceAccount(w workload, message string, c *event.Cause) bool {
	account := cmp.Or(w.template.ServiceAccountName, "default")
	r := diagnose.RefOf("v1", "ServiceAccount", w.ref.Namespace, account)
	switch {
	case v.Absent(r):
		c.Hearsay = false
	case !strings.Contains(message, "error looking up service account "):
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

func (v *rules) podSecurity(w workload, message string, c *event.Cause) bool {
	level, ok := after(message, `violates PodSecurity "`, `"`)
	if !ok {
		return false
	}
	then, _, _ := strings.Cut(level, ":")
	if ns := rule.Lookup[corev1.Namespace](v.View, diagnose.RefOf("v1", "Namespace", "", w.ref.Namespace)); ns != nil {
		now := ns.Labels["pod-security.kubernetes.io/enforce"]
		c.Hearsay = now != then
		if now != "" && now != then {
			c.Message = "Pods of " + rule.Name(w.ref) + " were refused while namespace " + w.ref.Namespace + " enforced the Pod security level " + level +
				"; it now enforces " + text.Excerpt(now) + ", and their controller will retry"
			return true
		}
	}
	c.Code = "PodSecurityViolation"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused: namespace " + w.ref.Namespace + " enforces the Pod security level " + level
	c.BlockedBy = diagnose.RefOf("v1", "Namespace", "", w.ref.Namespace)
	c.Next = rule.Kubectl("", "get", "namespace", w.ref.Namespace, "--show-labels")
	if _, why, ok := strings.Cut(message, level+`": `); ok {
		checks, details := violations(text.OneLine(why))
		c.Message += ", and they do not comply: " + text.Excerpt(strings.Join(checks, ", "))
		if len(details) > 0 {
			c.Evidence = nil // The details repeat it.
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

// complying returns a securityContext that satisfies the checks, or "".
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

// violations parses "check (details), check, …", the format that Pod security uses. It returns the
// names of all checks (checks) and the full text of the checks that have details (details).
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

func (v *rules) webhook(w workload, message string, c *event.Cause) bool {
	hook, denied := after(message, `admission webhook "`, `" denied`)
	if denied {
		c.Code = "WebhookDenied"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused by admission webhook " + hook + words(message, " denied the request: ")
	} else if hook, denied = after(message, `failed calling webhook "`, `"`); denied {
		c.Code = "WebhookUnavailable"
		c.Message = "Pods of " + rule.Name(w.ref) + " are refused because admission webhook " + hook + " cannot be reached" + words(message, `failed calling webhook "`+hook+`": `)
	} else {
		return false
	}
	c.Next = rule.Kubectl("", "get", "validatingwebhookconfigurations,mutatingwebhookconfigurations")
	readAll := true
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		configurations, sure := v.Select(diagnose.Question{GVK: diagnose.KindOf("admissionregistration.k8s.io/v1", kind)}, every)
		readAll = readAll && sure
		for _, u := range configurations {
			if slices.ContainsFunc(diagnose.Items(u, "webhooks"), func(h map[string]any) bool { return h["name"] == hook }) {
				c.BlockedBy = diagnose.RefOf("admissionregistration.k8s.io/v1", kind, "", u.GetName())
				c.Next = rule.Describe(c.BlockedBy)
			}
		}
	}
	if readAll && c.BlockedBy == (object.Ref{}) {
		_, why, _ := strings.Cut(strings.Replace(c.Message, " cannot be ", " could not be ", 1), " are refused ")
		c.Code, c.Next = "CreateRefused", rule.Describe(w.ref)
		c.Message = gone(w, why, "no webhook configuration contains it now")
	}
	return true
}

func policy(w workload, message string, c *event.Cause) bool {
	policy, ok := after(message, "ValidatingAdmissionPolicy '", "'")
	if !ok {
		return false
	}
	c.Code = "PolicyDenied"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused by ValidatingAdmissionPolicy " + policy + words(message, " denied request: ")
	c.BlockedBy = diagnose.RefOf("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", policy)
	c.Next = rule.Get(c.BlockedBy)
	return true
}

func (v *rules) limitRange(w workload, message string, c *event.Cause) bool {
	if !strings.Contains(message, " usage per ") && !strings.Contains(message, "max limit to request ratio per ") {
		return false
	}
	ranges, sure := v.Select(diagnose.Question{GVK: diagnose.KindOf("v1", "LimitRange"), Namespace: w.ref.Namespace}, every)
	if sure && len(ranges) == 0 {
		c.Message = gone(w, "by a LimitRange in namespace "+w.ref.Namespace, "the namespace has none now")
		return true
	}
	c.Code = "LimitRangeViolation"
	c.Message = "Pods of " + rule.Name(w.ref) + " are refused by a LimitRange in namespace " + w.ref.Namespace + words(message, " is forbidden: ")
	c.Next = rule.Kubectl(w.ref.Namespace, "describe", "limitranges")
	return true
}

func (v *rules) priority(w workload, message string, c *event.Cause) bool {
	class, ok := after(message, "no PriorityClass with name ", " was found")
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

// overcome returns the message for a refusal whose reason no longer exists. The controller retries
// at intervals of up to a quarter of an hour.
func overcome(w workload, r object.Ref) string {
	return "Pods of " + rule.Name(w.ref) + " were refused while " + rule.Name(r) + " did not exist; it does now, and their controller will retry"
}

// gone returns the message for a refusal by an object (why) that has been deleted since (now).
func gone(w workload, why, now string) string {
	return "Pods of " + rule.Name(w.ref) + " were refused " + why + "; " + now + ", and their controller has not tried again since"
}
