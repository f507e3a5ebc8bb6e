package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// checkTagged requires the tree to contain the version of its tag, because it cannot be fixed once
// the tag is published.
func checkTagged(ctx context.Context, root, dist string, stamp Stamp) error {
	if !released.MatchString(stamp.Version) {
		return fmt.Errorf("%s is not a version for a tag: it has to be vMAJOR.MINOR.PATCH, or with -rc.N", stamp.Version)
	}
	return errors.Join(checkWhole(ctx, root), checkCommitted(root, dist), checkChart(root, stamp.Version), checkChanges(root, stamp.Version))
}

// checkReady checks the requirements of krew's manifest before the build: a version for a tag, the
// whole history, and the tree that will be tagged. Otherwise wrong checksums would be found only
// after the tag.
func checkReady(ctx context.Context, root string, stamp Stamp) error {
	if !released.MatchString(stamp.Version) {
		return fmt.Errorf("%s is not a version for a tag: set VERSION=vMAJOR.MINOR.PATCH, or with -rc.N", stamp.Version)
	}
	if err := checkWhole(ctx, root); err != nil {
		return err
	}
	changed, err := output(ctx, root, nil, "git", "status", "--porcelain", "--", ".", ":(exclude)krew-manifest.yaml")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree differs from what will be tagged: commit or remove the changes\n%s", changed)
	}
	return nil
}

// checkWhole requires the whole history. The archives name the last commit that changed more than
// krew's manifest, which a shallow clone may lack.
func checkWhole(ctx context.Context, root string) error {
	shallow, err := output(ctx, root, nil, "git", "rev-parse", "--is-shallow-repository")
	if err == nil && shallow == "true" {
		return errors.New("this clone is shallow: the archives could name the wrong commit, and differ from the release's; git fetch --unshallow --tags fetches the history")
	}
	return err
}

func checkCommitted(root, dist string) error {
	made, err := os.ReadFile(filepath.Join(dist, "krew-manifest.yaml"))
	if err != nil {
		return err
	}
	if err := sameFile(made, filepath.Join(root, "krew-manifest.yaml")); err != nil {
		return fmt.Errorf("krew-manifest.yaml does not match the archives; make krew-manifest writes it (with the Go version in go.mod's toolchain line): %w", err)
	}
	return nil
}

// sameFile requires a file to have this content.
func sameFile(data []byte, path string) error {
	want, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(data, want) {
		err = fmt.Errorf("not the same as %s", path)
	}
	return err
}

// checkChart requires the chart to install this version's image.
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

// checkChanges requires a dated section for the version in the change log.
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
