package predict_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestConflictError(t *testing.T) {
	_, conflicts := noop.Evaluate(fieldstest.Read(t, fieldstest.WebLive), fieldstest.Read(t, fieldstest.Web), fieldstest.Us)
	ref := object.RefOf(fieldstest.Read(t, fieldstest.Web))
	tests := map[string]struct {
		conflicts []managedfields.Conflict
		want      string
	}{
		"one":     {conflicts[:1], `conflict on deployment.apps/web: .spec.replicas is owned by kubectl (scale)`},
		"two":     {conflicts, `conflict on deployment.apps/web: 2 paths are owned by others: .spec.replicas, ` + fieldstest.App + `.image`},
		"no name": {[]managedfields.Conflict{{Path: fieldstest.Path(t, ".spec.x")}}, `conflict on deployment.apps/web: .spec.x is owned by another manager`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := &predict.ConflictError{Ref: ref, Conflicts: tt.conflicts}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
	want := "for each path, take it with --take=deployment.apps/web:PATH, leave it with --yield=deployment.apps/web:PATH, or put the live value into the manifest"
	if got := (&predict.ConflictError{Ref: ref}).Hint(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
