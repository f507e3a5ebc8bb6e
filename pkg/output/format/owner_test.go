package format

import (
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

func TestOwner(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		owner managedfields.Owner
		want  string
	}{
		"no time, subresource (edge case 8)": {
			managedfields.Owner{Manager: "kube-controller-manager", Operation: "Update", Subresource: "scale"},
			"kube-controller-manager (scale)",
		},
		"update":            {managedfields.Owner{Manager: "kubectl-edit", Operation: "Update", Time: now.Add(-time.Hour)}, "kubectl-edit (Update, 1h ago)"},
		"apply":             {managedfields.Owner{Manager: "flux", Operation: "Apply", Time: now.Add(-72 * time.Hour)}, "flux (Apply, 3d ago)"},
		"apply to a part":   {managedfields.Owner{Manager: "flux", Operation: "Apply", Subresource: "status"}, "flux (Apply, status)"},
		"a clock is ahead":  {managedfields.Owner{Manager: "flux", Operation: "Apply", Time: now.Add(time.Hour)}, "flux (Apply, 0s ago)"},
		"nothing but name":  {managedfields.Owner{Manager: "x"}, "x"},
		"not even a name":   {managedfields.Owner{Operation: "Update"}, `"" (Update)`},
		"name with escapes": {managedfields.Owner{Manager: "\x1b[1mx"}, `\x1b[1mx`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Owner(tt.owner, now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
