package predict

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ValidAlone reports whether the manifest is valid as a new object. That does not prove
// that what is refused is the change: it may be wrong beside what others set.
func (p Predictor) ValidAlone(ctx context.Context, server Server, in *Prediction) bool {
	_, err := p.alone(ctx, server, in)
	return err == nil
}

// alone asks what the server would make of the manifest if there were no such
// object yet, by a dry run under another name.
func (p Predictor) alone(ctx context.Context, server Server, in *Prediction) (*unstructured.Unstructured, error) {
	twin := in.Body.DeepCopy()
	twin.SetName(twinName(twin.GetName()))
	answer, err := server.Apply(ctx, in.Item.Kind, twin, object.Write{
		Manager: p.Manager, Validation: p.Validation, DryRun: true,
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// twinName is a name for the dry run. It is no longer than a label may be, which is the
// limit for the names of some kinds.
func twinName(name string) string {
	const suffix = "-k8sconnect-probe"
	if most := validation.DNS1123LabelMaxLength - len(suffix); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + suffix
}
