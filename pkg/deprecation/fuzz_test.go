package deprecation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// checkText checks that a text is suitable for a warning (edge case 74).
func checkText(t *testing.T, text string) {
	t.Helper()
	if text == "" || !utf8.ValidString(text) || len(text) > deprecation.MaxText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}

// For any content of a CRD, the text is one printable line.
func FuzzNotice(f *testing.F) {
	f.Add("example.com", "Widget", "v1", "v1beta1", "use Gadgets")
	f.Add("example.com", "Widget", "v1", "v1", "a\nb\r\n\x1b[31m\u202e\x00\xff")
	f.Add("", strings.Repeat("é", 300), "", "", strings.Repeat("世", 300))
	f.Fuzz(func(t *testing.T, group, kind, used, other, words string) {
		d := deprecation.Definition{Kind: schema.GroupKind{Group: group, Kind: kind}, Versions: []deprecation.DefinedVersion{
			{Name: used, Served: true, Deprecated: true, Warning: words}, {Name: other, Served: true, Deprecated: other == used},
		}}
		for _, n := range d.Notices() {
			checkText(t, n.String())
		}
		if n, ok := deprecation.Check(d.Kind.WithVersion(used), deprecation.Release{Major: 1, Minor: 36}); ok {
			checkText(t, n.String())
		}
	})
}

// For any content of an object, nothing panics, the texts are printable, and an update that changes
// nothing adds no notice.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"v1","kind":"Pod","spec":{"volumes":[{"name":"a\u0000\u202e","gitRepo":{}},{"rbd":1}],"nodeSelector":{"beta.kubernetes.io/os":1}}}`,
		`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"template":{"spec":{"topologySpreadConstraints":[{"topologyKey":"beta.kubernetes.io/arch"}]}},"volumeClaimTemplates":[{}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/\n\ud800":""}}}`,
		`{"apiVersion":"v1","kind":"Service","spec":{"loadBalancerIP":[],"trafficDistribution":"PreferClose"}}`,
		`{"apiVersion":"v1","kind":"PersistentVolume","spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[[],{"matchExpressions":{}}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var object map[string]any
		if json.Unmarshal(text, &object) != nil || object == nil {
			return
		}
		u := &unstructured.Unstructured{Object: object}
		server := deprecation.Release{Major: 1, Minor: 37}
		for _, n := range deprecation.Fields(u, server) {
			checkText(t, n.String())
		}
		if again := deprecation.NewFields(u, u, server); len(again) > 0 {
			t.Errorf("an unchanged object has new fields: %v", again)
		}
	})
}
