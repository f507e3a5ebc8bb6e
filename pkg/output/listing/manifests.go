package listing

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/encode"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ManifestPhase is manifests that may be applied side by side.
type ManifestPhase struct {
	Name    string
	Objects []*unstructured.Unstructured
}

// WriteManifests writes manifests in order as YAML, each phase below a comment. Nothing
// is masked, because a masked value could not be applied.
func WriteManifests(w io.Writer, phases []ManifestPhase) error {
	for i, ph := range phases {
		heading := fmt.Sprintf("# phase %d of %d, %s: %s\n", i+1, len(phases), ph.Name, text.Count(len(ph.Objects), "object"))
		if _, err := io.WriteString(w, heading); err != nil {
			return err
		}
		for _, u := range ph.Objects {
			text, err := encode.YAML(u.Object)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", u.GetKind(), u.GetName(), err)
			}
			if _, err := io.WriteString(w, "---\n"+string(text)); err != nil {
				return err
			}
		}
	}
	return nil
}
