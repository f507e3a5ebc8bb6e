package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPublished inspects the release in RELEASE_DIST for RELEASE_PLATFORMS. `make release` runs it.
func TestPublished(t *testing.T) {
	dist := os.Getenv("RELEASE_DIST")
	if dist == "" {
		t.Skip("run by make release, with RELEASE_DIST and RELEASE_PLATFORMS")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(dist) {
		dist = filepath.Join(root, dist)
	}
	platforms := ParsePlatforms(os.Getenv("RELEASE_PLATFORMS"))
	stamp, err := ReadStamp(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSums(dist, stamp.Version); err != nil {
		t.Error(err)
	}
	for _, p := range platforms {
		for _, err := range []error{checkArchive(root, dist, p, stamp), checkSBOM(dist, p, stamp)} {
			if err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
	manifest, err := os.ReadFile(filepath.Join(dist, "krew-manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(platforms) < len(Platforms()) {
		return // krew requires a manifest to list all platforms
	}
	m, err := readManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Spec.Platforms {
		if err := p.install(dist); err != nil {
			t.Errorf("krew manifest: %s: %v", p.platform(), err)
		}
	}
}

// checkSums requires the checksums of exactly the published files.
func checkSums(dist, version string) error {
	text, err := os.ReadFile(filepath.Join(dist, checksums(version)))
	if err != nil {
		return err
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || listed[name] != "" || path.Base(name) != name {
			return fmt.Errorf("%s: %q is not a line of sha256sum", checksums(version), line)
		}
		listed[name] = sum
	}
	names, err := published(dist, version)
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		if listed[name] != sha256Of(data) {
			wrong = append(wrong, fmt.Errorf("%s: its checksum is not listed", name))
		}
		delete(listed, name)
	}
	for name := range listed {
		wrong = append(wrong, fmt.Errorf("%s: listed, but missing", name))
	}
	return errors.Join(wrong...)
}

// entry is a file in an archive, with all its metadata.
type entry struct {
	Name     string
	Mode     fs.FileMode
	Data     []byte
	time     time.Time
	uid, gid int
	names    string // user and group
}

func checkArchive(root, dist string, p Platform, stamp Stamp) error {
	data, err := os.ReadFile(filepath.Join(dist, p.archive(stamp.Version)))
	if err != nil {
		return err
	}
	entries, err := unpack(p.archive(stamp.Version), data)
	if err != nil {
		return err
	}
	return checkEntries(root, entries, p, stamp)
}

func checkEntries(root string, entries []entry, p Platform, stamp Stamp) error {
	want := map[string]fs.FileMode{license: 0o644, notices: 0o644, p.executable(program): 0o755}
	var wrong []error
	for _, e := range entries {
		mode, expected := want[e.Name]
		delete(want, e.Name)
		switch {
		case !expected:
			wrong = append(wrong, fmt.Errorf("%q is in the archive unexpectedly, or twice", e.Name))
		case e.Mode != mode:
			wrong = append(wrong, fmt.Errorf("%s has mode %s, want %s", e.Name, e.Mode, mode))
		case e.uid != 0 || e.gid != 0 || e.names != "":
			wrong = append(wrong, fmt.Errorf("%s has an owner: %d, %d, %q", e.Name, e.uid, e.gid, e.names))
		case !e.time.Equal(stamp.At):
			wrong = append(wrong, fmt.Errorf("%s has the time %s, want the commit's %s", e.Name, e.time, stamp.At))
		case e.Name == license:
			wrong = append(wrong, sameFile(e.Data, filepath.Join(root, license)))
		case e.Name == notices:
			wrong = append(wrong, checkNotices(e.Data))
		default:
			wrong = append(wrong, checkBinary(root, e.Data, p, stamp))
		}
	}
	for name := range want {
		wrong = append(wrong, fmt.Errorf("%s is not in the archive", name))
	}
	return errors.Join(wrong...)
}

// unpack reads an archive in the format of its extension.
func unpack(name string, data []byte) ([]entry, error) {
	if strings.HasSuffix(name, ".zip") {
		return unzip(data)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if compressed.Name != "" || !compressed.ModTime.IsZero() {
		return nil, fmt.Errorf("gzip reveals a name and a time: %q, %s", compressed.Name, compressed.ModTime)
	}
	var entries []entry
	for archive := tar.NewReader(compressed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		} else if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{
			Name: h.Name, Mode: h.FileInfo().Mode(), Data: content,
			time: h.ModTime, uid: h.Uid, gid: h.Gid, names: h.Uname + h.Gname,
		})
	}
}

func unzip(data []byte) ([]entry, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{Name: f.Name, Mode: f.Mode(), Data: content, time: f.Modified})
	}
	return entries, nil
}

// checkNotices requires the notices to name Go and the largest libraries, and to contain the most
// common licence.
func checkNotices(data []byte) error {
	for _, needed := range []string{"  std 1.", "  k8s.io/client-go v", "  github.com/spf13/cobra v", "Version 2.0, January 2004"} {
		if !bytes.Contains(data, []byte(needed)) {
			return fmt.Errorf("%s lacks %q", notices, needed)
		}
	}
	return nil
}

// checkSBOM requires the SBOM to describe that archive, and each part to have a unique ID, a
// version and a licence.
func checkSBOM(dist string, p Platform, stamp Stamp) error {
	text, err := os.ReadFile(filepath.Join(dist, p.sbom(stamp.Version)))
	if err != nil {
		return err
	}
	archive, err := os.ReadFile(filepath.Join(dist, p.archive(stamp.Version)))
	if err != nil {
		return err
	}
	var doc struct {
		Packages []struct {
			ID              string `json:"SPDXID"`
			Version         string `json:"versionInfo"`
			LicenseDeclared string
			Checksums       []struct{ ChecksumValue string }
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Packages) < 20 || doc.Packages[0].Checksums[0].ChecksumValue != sha256Of(archive) {
		return fmt.Errorf("the SBOM with %d parts is not for this archive", len(doc.Packages))
	}
	var ids []string
	for _, c := range doc.Packages {
		if c.Version == "" || c.LicenseDeclared == "" || slices.Contains(ids, c.ID) {
			return fmt.Errorf("the SBOM's part %s is incomplete or duplicated", c.ID)
		}
		ids = append(ids, c.ID)
	}
	return nil
}

// install does what krew does for a platform: it reads the archive, compares its checksum, extracts
// the files, and checks that the program is one of them.
func (p krewPlatform) install(dist string) error {
	data, err := os.ReadFile(filepath.Join(dist, path.Base(p.URI)))
	if err != nil {
		return err
	}
	if sum := sha256Of(data); sum != p.SHA256 {
		return fmt.Errorf("the archive's checksum is %s, want %s", sum, p.SHA256)
	}
	entries, err := unpack(p.URI, data)
	if err != nil {
		return err
	}
	for _, f := range p.Files {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.Name == f.From })
		if i < 0 {
			return fmt.Errorf("%s is not in the archive", f.From)
		}
		if f.From == p.Bin && entries[i].Mode.Perm()&0o111 != 0o111 {
			return fmt.Errorf("%s cannot be executed: %s", f.From, entries[i].Mode)
		}
	}
	return nil
}
