package records_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/records"
)

var ofRecords = schema.GroupResource{Group: ownership.RecordGroup, Resource: ownership.RecordPlural}

// store has one record, or none, and answers its first writes with errors.
type store struct {
	record *ownership.Record
	errs   []error
	writes int
}

func (s *store) Get(context.Context, string, string) (*ownership.Record, error) {
	if s.record == nil {
		return nil, apierrors.NewNotFound(ofRecords, "r")
	}
	return s.record.DeepCopy(), nil
}

func (s *store) Create(_ context.Context, r *ownership.Record) error {
	if s.writes++; len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return err
	}
	s.record = r.DeepCopy()
	return nil
}

func (s *store) Update(ctx context.Context, r *ownership.Record) error { return s.Create(ctx, r) }

// A write is repeated only if another replica wrote. A namespace that accepts no record differs
// from a CRD that is missing.
func TestUpdate(t *testing.T) {
	conflict := apierrors.NewConflict(ofRecords, "r", errors.New("written by another replica"))
	missing := apierrors.NewNotFound(ofRecords, "r")
	noCRD := apierrors.NewNotFound(ofRecords, "r")
	noCRD.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}
	terminating := apierrors.NewForbidden(ofRecords, "r", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	noNamespace := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	tests := map[string]struct {
		errs    []error
		nothing bool
		writes  int
		failed  bool
		gone    bool
	}{
		"created":                             {writes: 1},
		"another replica creates it":          {errs: []error{apierrors.NewAlreadyExists(ofRecords, "r")}, writes: 2},
		"another replica writes four times":   {errs: []error{conflict, conflict, conflict, conflict}, writes: 5},
		"another replica writes all the time": {errs: []error{conflict, conflict, conflict, conflict, conflict}, writes: 5, failed: true},
		"deleted after it was read":           {errs: []error{missing}, writes: 2},
		"nothing to write":                    {nothing: true},
		"the CRD is missing":                  {errs: []error{noCRD}, writes: 1, failed: true},
		"the namespace is going":              {errs: []error{terminating}, writes: 1, failed: true, gone: true},
		"the namespace is gone":               {errs: []error{noNamespace}, writes: 1, failed: true, gone: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &store{errs: tt.errs}
			r, err := records.Update(t.Context(), s, &ownership.Record{}, func(*ownership.Record) bool { return !tt.nothing })
			if s.writes != tt.writes || (err != nil) != tt.failed || records.NamespaceGone(err) != tt.gone {
				t.Errorf("%d writes, error %v, namespace gone %t; want %d, %t, %t", s.writes, err, records.NamespaceGone(err), tt.writes, tt.failed, tt.gone)
			}
			if stored := err == nil && !tt.nothing; (r != nil) != stored || (s.record != nil) != stored {
				t.Errorf("returned %v, stored %v; want a record: %t", r, s.record, stored)
			}
		})
	}
}
