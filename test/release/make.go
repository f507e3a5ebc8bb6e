package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Stamp identifies the source of a release's programs.
type Stamp struct {
	Version, Commit string
	At              time.Time
}

// ReadStamp runs stamp.sh, as make does for a build.
func ReadStamp(ctx context.Context, root string) (Stamp, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(root, "test/release/stamp.sh")).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && len(failed.Stderr) > 0 {
		return Stamp{}, errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return Stamp{}, fmt.Errorf("stamp.sh: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) != 3 {
		return Stamp{}, errors.New("a release needs a clone with its history: git has the version, commit and date")
	}
	at, err := time.Parse(time.RFC3339, words[2])
	return Stamp{Version: words[0], Commit: words[1], At: at}, err
}

// Archives packs the plugin of every platform in dist/binaries with its licences, and writes the
// archives, their SBOMs and krew's manifest to dist.
func Archives(ctx context.Context, root, dist string, platforms []Platform, stamp Stamp) error {
	ours, err := os.ReadFile(filepath.Join(root, license))
	if err != nil {
		return err
	}
	for _, p := range platforms {
		binary := p.binary(dist, program)
		software, err := Linked(ctx, root, binary)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		name := p.archive(stamp.Version)
		archive, err := pack(name, []File{
			{license, 0o644, ours},
			{notices, 0o644, []byte(software.Notices())},
			{p.executable(program), 0o755, data},
		}, stamp.At)
		if err != nil {
			return err
		}
		sbom, err := software.SBOM(Published{File: name, SHA256: sha256Of(archive), Version: stamp.Version, At: stamp.At})
		if err != nil {
			return err
		}
		if err := errors.Join(write(dist, name, archive), write(dist, p.sbom(stamp.Version), sbom)); err != nil {
			return err
		}
	}
	sums, err := sumsOf(dist, stamp.Version, platforms)
	if err != nil {
		return err
	}
	return write(dist, "krew-manifest.yaml", []byte(Manifest(stamp.Version, sums)))
}

// Notices writes a file PROGRAM.notices next to every program in dist/binaries, for other ways of
// packaging.
func Notices(ctx context.Context, root, dist string, platforms []Platform) error {
	for _, p := range platforms {
		for _, name := range []string{program, "webhook"} {
			binary := p.binary(dist, name)
			if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			software, err := Linked(ctx, root, binary)
			if err != nil {
				return err
			}
			if err := os.WriteFile(binary+".notices", []byte(software.Notices()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// Checksums writes the checksums of all files in dist, in the format of sha256sum.
func Checksums(dist string, stamp Stamp) error {
	names, err := published(dist, stamp.Version)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sha256Of(data), name)
	}
	return write(dist, checksums(stamp.Version), []byte(out.String()))
}

// published returns the files in dist except for the checksums. Files in subfolders, such as the
// programs, are not published.
func published(dist, version string) ([]string, error) {
	entries, err := os.ReadDir(dist)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && entry.Name() != checksums(version) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func write(dist, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dist, name), data, 0o644)
}
