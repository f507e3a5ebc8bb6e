package webhook

import (
	"fmt"
	"maps"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// tryEvery is how often calls are tested, and tryAgain how soon after a test that did not yet
	// decide: until then, each write may wait for the time-out.
	tryEvery = 10 * time.Second
	tryAgain = time.Second
	// suspendAfter is how many calls in a row have to be lost before calls are suspended: one may
	// be lost by chance, three are not.
	suspendAfter = 3
	// resumeAfter is how many have to come back before writes wait for them again.
	resumeAfter = 2
)

// circuit decides whether the API server should call, from the results of test calls.
type circuit struct {
	suspended  bool
	lost, back int // in a row
}

// tried records whether a call came back.
func (c *circuit) tried(came bool) {
	if came {
		c.lost = 0
		if c.back++; c.back >= resumeAfter {
			c.suspended = false
		}
		return
	}
	c.back = 0
	if c.lost++; c.lost >= suspendAfter {
		c.suspended = true
	}
}

// pause returns how long to wait for the next test.
func (c *circuit) pause() time.Duration {
	if c.suspended && c.back > 0 || !c.suspended && c.lost > 0 {
		return tryAgain
	}
	return tryEvery
}

// customEntry is the entry of the webhook configuration for custom resources. The chart gives it no
// rules: only CRDs say which versions are deprecated.
const customEntry = "custom.k8sconnect.io"

// suspendedLabel is a label that no object has: an entry whose selector requires it is not called.
// It is in the selector and not in the rules because the chart sets no selector: an upgrade neither
// resets it nor fails because of it.
const suspendedLabel = "k8sconnect.io/calls-are-suspended"

// isSuspended reports whether an entry is not called.
func isSuspended(e admissionv1.ValidatingWebhook) bool {
	return e.ObjectSelector != nil && e.ObjectSelector.MatchLabels[suspendedLabel] != ""
}

// selectorFor returns the selector of an entry that should be called or not, with everything that
// others have put into it.
func selectorFor(e admissionv1.ValidatingWebhook, suspended bool) *metav1.LabelSelector {
	s := e.ObjectSelector.DeepCopy()
	if s == nil {
		s = &metav1.LabelSelector{}
	}
	labels := maps.Clone(s.MatchLabels)
	delete(labels, suspendedLabel)
	if suspended {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[suspendedLabel] = "true"
	}
	s.MatchLabels = labels
	return s
}

// rulesFor returns the rules of the entry for custom resources: writes at these versions, and
// nothing else.
func rulesFor(deprecated []schema.GroupVersionResource) []admissionv1.RuleWithOperations {
	rules := []admissionv1.RuleWithOperations{}
	scope := admissionv1.AllScopes
	for _, r := range deprecated {
		rules = append(rules, admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{r.Group}, APIVersions: []string{r.Version}, Resources: []string{r.Resource}, Scope: &scope},
		})
	}
	return rules
}

// changes returns the JSON patch that makes a configuration call for the right versions of custom
// resources, or not at all; nil if it does already. It leaves the entry alone by which calls are
// tested. The patch is refused if the configuration has changed in between.
func changes(c *admissionv1.ValidatingWebhookConfiguration, suspended bool, deprecated []schema.GroupVersionResource) ([]byte, error) {
	var patch []operation
	for i, e := range c.Webhooks {
		if rules := rulesFor(deprecated); e.Name == customEntry && !equality.Semantic.DeepEqual(rules, e.Rules) {
			patch = append(patch, operation{"add", fmt.Sprintf("/webhooks/%d/rules", i), rules})
		}
		if e.Name == reachEntry || isSuspended(e) == suspended {
			continue
		}
		patch = append(patch, operation{"add", fmt.Sprintf("/webhooks/%d/objectSelector", i), selectorFor(e, suspended)})
	}
	return patchOf(c, patch)
}
