package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// CheckTagged wants the tree to say of itself the version that its tag does: nothing of
// it can be mended once the tag is out.
func CheckTagged(root, dist string, stamp Stamp) error {
	if !released.MatchString(stamp.Version) {
		return fmt.Errorf("%s is no version for a tag: vMAJOR.MINOR.PATCH, or with -rc.N", stamp.Version)
	}
	return errors.Join(checkCommitted(root, dist), checkChart(root, stamp.Version), checkChanges(root, stamp.Version))
}

func checkCommitted(root, dist string) error {
	made, err := os.ReadFile(filepath.Join(dist, "krew-manifest.yaml"))
	if err != nil {
		return err
	}
	if err := sameFile(made, filepath.Join(root, "krew-manifest.yaml")); err != nil {
		return fmt.Errorf("krew-manifest.yaml does not fit the archives; make krew-manifest writes it (with the Go of go.mod's toolchain line): %w", err)
	}
	return nil
}

// checkChart wants the chart to install the image of this version.
func checkChart(root, version string) error {
	text, err := os.ReadFile(filepath.Join(root, "charts/k8sconnect/Chart.yaml"))
	if err != nil {
		return err
	}
	var chart struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return err
	}
	if want := strings.TrimPrefix(version, "v"); chart.Version != want || chart.AppVersion != want {
		return fmt.Errorf("charts/k8sconnect/Chart.yaml: version %s and appVersion %s, not %s", chart.Version, chart.AppVersion, want)
	}
	return nil
}

// checkChanges wants the version to have a section in the change log, with a date.
func checkChanges(root, version string) error {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "\n## ["+strings.TrimPrefix(version, "v")+"] - 20") {
		return fmt.Errorf("CHANGELOG.md has no section for %s with a date", version)
	}
	return nil
}
