package admission

import (
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// DeletionSink receives hints about deletions. It never blocks, and returns false if it drops a hint.
type DeletionSink interface {
	Hint(hint ownership.DeletionHint) bool
}

// deletions sends hints about deletions. A deletecollection arrives as a review for each object,
// without a name: the API server fills in only the old object (rest.AdmissionToValidateObjectDeleteFunc).
type deletions struct {
	sink  DeletionSink // nil sends none
	count *metrics
}

// evaluate ignores further deletions of an object that is being deleted, such as the kubelet's,
// which ends a Pod's grace period.
func (d deletions) evaluate(r *request) (findings, error) {
	if r.Operation != admissionv1.Delete || r.DryRun || r.SubResource != "" || r.OldObject.isNull() || d.sink == nil {
		return findings{}, nil
	}
	o := r.OldObject
	if o.err != nil || o.metadata.UID == "" || o.metadata.DeletionTimestamp != nil {
		return findings{}, o.err
	}
	if !d.sink.Hint(ownership.DeletionHint{UID: o.metadata.UID, User: ownership.FitUser(r.UserInfo.Username), Time: time.Now()}) {
		d.count.hintsDropped.Inc()
	}
	return findings{}, nil
}
