package glance_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/glance"
)

// A glance finds what it can see, and no object where there is none.
func TestHeads(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"usual":            {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\ndata:\n  name: c\n", []string{"v1 ConfigMap b/a"}},
		"the rest before":  {"data:\n  kind: x\n  metadata:\n    name: no\nmetadata:\n    labels:\n      name: no\n    name: a\nkind: ConfigMap\napiVersion: v1\n", []string{"v1 ConfigMap /a"}},
		"quotes, comments": {"# first\napiVersion: \"apps/v1\"\nkind: 'Deployment' # it is\n\nmetadata: # so\n  # not: this\n  annotations:\n    name: no\n  name: 'a'\n", []string{"apps/v1 Deployment /a"}},
		"metadata nests":   {"apiVersion: v1\nkind: Pod\nmetadata:\n  ownerReferences:\n  - name: no\n  managedFields:\n    - name: no\n  name: a\n", []string{"v1 Pod /a"}},
		"block text":       {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: |\n    apiVersion: v1\n    kind: Pod\n    metadata:\n      name: no\n", []string{"v1 ConfigMap /a"}},
		"list": {
			"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n  spec:\n    items:\n    - name: no\n- metadata:\n    namespace: c\n    name: b\n  kind: Pod\n  apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
			[]string{"v1 Pod /a", "v1 Pod c/b"},
		},
		"list, indented": {"kind: List\napiVersion: v1\nitems:\n  - kind: Pod\n    apiVersion: v1\n    metadata:\n      name: a\n  -\n    kind: Pod\n    apiVersion: v1\n    metadata:\n      name: b\n", []string{"v1 Pod /a", "v1 Pod /b"}},
		"flow":           {"{apiVersion: v1, kind: Pod, metadata: {name: a}}\n", nil},
		"flow below":     {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", nil},
		"no name":        {"apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: a-\n", nil},
		"an anchor":      {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: *a\n", nil},
		"a template":     {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Name }}\n", nil},
		"a text":         {"no: object\n", nil},
		"a URL":          {"http://x\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range glance.Heads([]byte(test.text)) {
				got = append(got, fmt.Sprintf("%s %s %s/%s", h.APIVersion, h.Kind, h.Namespace, h.Name))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
