package apply

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/review"
)

// Written implements [apply.Review].
func (l *lookahead) Written(p *predict.Prediction, answer *unstructured.Unstructured) error {
	stored := *p
	stored.Answer = answer
	if l.member.Made(p.Item.Key()) {
		stored.Live = nil // It was reviewed as a new object.
	}
	now, err := l.engine.Outcome(&stored, nil)
	if err != nil {
		return err
	}
	found, lines := l.plan.Stored(now, nil), []string(nil)
	if predicted := l.predicted(p); l.recreates(p) && predicted != nil {
		// The dry run had another name, so only our fields are comparable.
		anew := *p
		anew.Answer = predicted
		then, err := l.engine.Outcome(&anew, nil)
		if err != nil {
			return err
		}
		found = l.plan.Stored(now, then.After)
	} else {
		if lines = besides(&stored, predicted, now, found); len(lines) > 0 && l.decidesDefaults(p.Item.Ref) {
			lines = nil
		}
	}
	if len(found)+len(lines) == 0 {
		return nil
	}
	for i, message := range messagesOf(found, time.Now()) {
		lines = append(lines, strings.TrimLeft(found[i].Path+": "+message, ": "))
	}
	return object.Hinted("an admission webhook or policy treats a dry run differently from a write",
		"written, but not as reviewed: %s", strings.Join(lines, "; "))
}

// predicted returns the answer to the dry run before the write; nil if there was none. An apply needs
// none for a new object, but the comparison has sent one.
func (l *lookahead) predicted(p *predict.Prediction) *unstructured.Unstructured {
	if p.Answer != nil {
		return p.Answer
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if j := l.judged[p.Item.Key()]; p.Live == nil && j.version == "" && j.prediction != nil {
		return j.prediction.Answer
	}
	return nil
}

// recreates reports whether the object existed at the time of the comparison, and is new now.
func (l *lookahead) recreates(p *predict.Prediction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.Live == nil && l.judged[p.Item.Key()].version != ""
}

// besides describes the differences between a write and its dry run in fields that are not ours, and that
// are no part of the outcome: fields that admission adds, changes or removes only in the write.
func besides(stored *predict.Prediction, predicted *unstructured.Unstructured, now event.Compared, found []review.Difference) []string {
	if predicted == nil {
		return nil
	}
	var lines []string
	for _, added := range predict.Dropped(predicted, stored.Answer) {
		// The server gives the token volume of each new Pod a random name.
		if strings.Contains(added.Path.String(), `[name="kube-api-access-`) {
			continue
		}
		if !slices.ContainsFunc(found, func(d review.Difference) bool { return d.Path == added.Path.String() }) {
			lines = append(lines, added.Path.String()+": reviewed unchanged, now added")
		}
	}
	if stored.Live == nil {
		return lines
	}
	for _, s := range review.Strayed(stored.Live, predicted, stored.Answer) {
		if slices.ContainsFunc(now.Changes, func(c managedfields.Change) bool { return c.Path.HasPrefix(s.Path) || s.Path.HasPrefix(c.Path) }) ||
			slices.ContainsFunc(found, func(d review.Difference) bool { return d.Path == s.Path.String() }) {
			continue
		}
		fate := "changed"
		if s.Gone {
			fate = "removed"
		}
		lines = append(lines, s.Path.String()+": reviewed unchanged, now "+fate)
	}
	return lines
}

// decidesDefaults reports whether the plan changes an object that decides which fields admission adds to the
// given one, such as a default StorageClass. A dry run before the first write cannot show these fields.
func (l *lookahead) decidesDefaults(of object.Ref) bool {
	for _, ref := range l.changed() {
		near := ref.Namespace == of.Namespace
		isPod := of.GVK.Group == "" && of.GVK.Kind == "Pod"
		isClaim := of.GVK.Group == "" && of.GVK.Kind == "PersistentVolumeClaim"
		decides := false
		switch ref.GVK.GroupKind().String() {
		case "Namespace":
			decides = ref.Name == of.Namespace
		case "LimitRange":
			decides = near && (isPod || isClaim)
		case "ServiceAccount":
			decides = near && isPod
		case "PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io":
			decides = isPod
		case "StorageClass.storage.k8s.io":
			decides = isClaim
		case "IngressClass.networking.k8s.io":
			decides = of.GVK.Kind == "Ingress"
		case "MutatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
			"MutatingWebhookConfiguration.admissionregistration.k8s.io":
			decides = true
		}
		if decides {
			return true
		}
	}
	return false
}
