package e2e_test

import (
	"encoding/json"
	"testing"
)

// A refused run with -o json prints a document that says why.
func TestConfirmRefusedIsDocument(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := namespace(t, c)
	set := []string{"-n", ns, "-f", file(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`)}
	const digest = "0123456789abcdef0123456789abcdef"
	r := k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "-o", "json", "--confirm=" + digest}, set...)...).ends(t, 1)
	var document struct {
		Kind  string
		Error struct{ Message, Hint string }
	}
	if err := json.Unmarshal(r.stdout.Bytes(), &document); err != nil || document.Error.Message == "" || document.Error.Hint == "" {
		t.Errorf("%v: the document is %+v: %s", err, document, r)
	}
}
