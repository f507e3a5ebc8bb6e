package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkTagged requires the tree to contain the version of its tag, because it cannot be fixed once
// the tag is published.
func checkTagged(ctx context.Context, root, dist string, stamp Stamp) error {
	if !released.MatchString(stamp.Version) {
		return fmt.Errorf("%s is not a version for a tag: it has to be vMAJOR.MINOR.PATCH, or with -rc.N", stamp.Version)
	}
	return errors.Join(checkWhole(ctx, root), checkCommitted(root, dist), checkNamed(root, stamp.Version))
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
		err = fmt.Errorf("differs from %s", path)
	}
	return err
}

// checkNamed requires the chart to install this version's image, and the change log to have a dated
// section for it.
func checkNamed(root, version string) error {
	version = strings.TrimPrefix(version, "v")
	var wrong []error
	for _, needs := range [][2]string{
		{"charts/k8sconnect/Chart.yaml", "\nversion: " + version + "\n"},
		{"charts/k8sconnect/Chart.yaml", "\nappVersion: " + version + "\n"},
		{"CHANGELOG.md", "\n## [" + version + "] - 20"},
	} {
		text, err := os.ReadFile(filepath.Join(root, needs[0]))
		if err == nil && !bytes.Contains(text, []byte(needs[1])) {
			err = fmt.Errorf("%s has no %q", needs[0], needs[1])
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}
