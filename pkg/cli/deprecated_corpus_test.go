package cli

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The fixtures of kubent: each file contains an object that kubent reports. We report it too,
// unless the row has a reason.
func TestFixturesOfKubent(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join(cmp.Or(os.Getenv("CORPUS"), "../../../shared/corpus"), "deprecated", "kube-no-trouble"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(files) == 0 {
		t.Skipf("no corpus of real manifests at %s; set CORPUS. The table of other tools' dates is in package deprecation", dir)
	}
	const (
		customKind = "a custom resource: its definition in the cluster says what is deprecated"
		live       = "a live object at a version that stays; its annotation counts where objects are live"
		nameless   = "a review: it is never stored, and has no name"
		broken     = "an annotation list is no mapping: the API server refuses it as well"
	)
	not := map[string]string{
		"issuer-v1alpha2.yaml": customKind, "volumesnapshot-v1beta1.yaml": customKind, "volumesnapshotclass-v1beta1.yaml": customKind,
		"volumesnapshotcontent-v1beta1.yaml":           broken,
		"fake-deployment-v1beta1-no-annotation.yaml":   live,
		"fake-deployment-v1beta1-with-annotation.yaml": live, "fake-deployment-v1beta1-with-kapp-annotation.yaml": live,
		"fake-ingress-v1beta1-with-annotation.yaml": live,
		"localsubjectaccessreview-v1beta1.yaml":     nameless, "selfsubjectaccessreview-v1beta1.yaml": nameless,
		"subjectaccessreview-v1beta1.yaml": nameless, "tokenreview-v1beta1.yaml": nameless,
	}
	noCluster(t)
	code, out, errOut := call(t, "deprecated", "-f", dir, "--release=1.38", "-o", "json")
	var found struct {
		Objects []struct {
			Goes    bool
			Sources []string
		}
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 1 {
		t.Fatalf("%v, exit status %d\n%s%s", err, code, out, errOut)
	}
	goes := map[string]bool{}
	for _, o := range found.Objects {
		for _, source := range o.Sources {
			file, _, _ := strings.Cut(filepath.Base(source), ":")
			goes[file] = goes[file] || o.Goes
		}
	}
	for _, path := range files {
		if name := filepath.Base(path); goes[name] != (not[name] == "") {
			t.Errorf("%s: found %v; %s", name, goes[name], not[name])
		}
	}
}
