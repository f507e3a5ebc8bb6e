package tracker

import (
	"net/http"
	"strings"
	"testing"
)

// Edge case 85: an answer that does not come from the API server is rejected. A server of custom
// APIs may not support lists of metadata, so its full lists are accepted.
func TestAnswersAreChecked(t *testing.T) {
	const pods, widgets = "/api/v1/pods", "/apis/example.com/v1/widgets"
	for name, test := range map[string]struct {
		method, path, body string
		says               string
	}{
		"list of metadata":               {http.MethodGet, pods, `{"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "1"}, "items": []}`, ""},
		"full list of a built-in kind":   {http.MethodGet, pods, `{"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": []}`, "not a list of metadata"},
		"full list of a custom kind":     {http.MethodGet, widgets, `{"kind": "WidgetList", "metadata": {"resourceVersion": "1"}, "items": []}`, ""},
		"single object of a custom kind": {http.MethodGet, widgets, `{"kind": "Widget", "metadata": {"resourceVersion": "1"}, "items": []}`, "not a list of metadata"},
		"list without items":             {http.MethodGet, pods, `{"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "1"}}`, "list without items"},
		"Status":                         {http.MethodGet, pods, `{"kind": "Status", "message": "fine"}`, "Status (fine)"},
		"Status after a deletion":        {http.MethodDelete, pods, `{"kind": "Status", "message": "fine"}`, ""},
		"object without a kind":          {http.MethodGet, pods, `{}`, "no kind"},
		"truncated body":                 {http.MethodGet, pods, `{"kind": "PartialObj`, "not a complete JSON object"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "https://127.0.0.1"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.method == http.MethodGet {
			r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
		}
		err = check(r, []byte(test.body))
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got error %v, want %q", name, err, test.says)
		}
	}
}
