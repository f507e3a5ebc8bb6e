package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program prints the name of an object in a form that kubectl accepts. The test reads every
// expected output: golden files and scripts. Messages of other programs are exempt.
func TestObjectNamesAreInKubectlForm(t *testing.T) {
	const kinds = `(?:ConfigMap|Secret|Service|ServiceAccount|Namespace|Pod|PersistentVolumeClaim|Endpoints|Node|Deployment|` +
		`StatefulSet|DaemonSet|ReplicaSet|Job|CronJob|Ingress|CustomResourceDefinition|Widget|HorizontalPodAutoscaler|Role|RoleBinding)`
	const name = `[a-z0-9$'][A-Za-z0-9.$'-]*` // with the quotes that a script has about $NS
	// The spellings that kubectl does not accept are Kind/name, Kind/namespace/name and Kind
	// namespace/name.
	other := regexp.MustCompile(`(^|[^/A-Za-z0-9.])` + kinds + `(/` + name + `| ` + name + `/` + name + `)`)
	theirs := regexp.MustCompile(strings.Join([]string{
		`^Warning: `, // the webhook's, on the wire
		`taken from|is deprecated|client prints|ConfigMap/app;Secret`, // as above, in a table of its tests and in the documentation
		`--(wait-for|take|yield)[= ]`,                                 // typed: flags take the kind with a capital, too
		`no Deployment/wbe in the input`,                              // quotes what was typed
		`depends-on names|config.kubernetes.io/depends-on`,            // the annotation's own way
		`couldn't find key k in ConfigMap`,                            // the kubelet's
		`^\s*(kind|annotations|metadata): `,                           // manifests
	}, "|"))
	read := 0
	for _, root := range []string{"../../pkg", "../../test/e2e"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch filepath.Ext(path) {
			case ".golden", ".txtar":
			default:
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			n := 0
			for line := range strings.Lines(string(text)) {
				n++
				if found := other.FindString(line); found != "" && !theirs.MatchString(line) {
					t.Errorf("%s:%d: %q in %s", path, n, strings.TrimSpace(found), line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d files were read, want at least 100", read)
	}
}
