package images

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The parts of the OCI image specification that the tests use.
type (
	descriptor struct {
		MediaType   string
		Digest      string
		Size        int64
		Annotations map[string]string
		Platform    struct{ OS, Architecture string }
	}
	indexFile struct {
		MediaType   string
		Manifests   []descriptor
		Annotations map[string]string
	}
	manifestFile struct {
		MediaType   string
		Config      descriptor
		Layers      []descriptor
		Annotations map[string]string
	}
	configFile struct {
		OS, Architecture string

		Config struct {
			User       string
			Entrypoint []string
			Env        []string
			Labels     map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
)

type image struct {
	dir      string
	manifest manifestFile
	config   configFile
}

// layout is an OCI layout with one index.
type layout struct {
	digest string
	images map[string]image // by platform
}

// openLayout reads an OCI layout, and fails the test if it violates the specification: each blob
// has to match its digest.
func openLayout(t *testing.T, dir string) layout {
	t.Helper()
	if got := read(t, filepath.Join(dir, "oci-layout")); !strings.Contains(got, `"imageLayoutVersion": "1.0.0"`) {
		t.Errorf("oci-layout: %s", got)
	}
	for path := range walk(t, filepath.Join(dir, "blobs", "sha256")) {
		if got := sum([]byte(read(t, path))); got != filepath.Base(path) {
			t.Errorf("the digest of %s is %s", path, got)
		}
	}
	var top, index indexFile
	parse(t, read(t, filepath.Join(dir, "index.json")), &top)
	if len(top.Manifests) != 1 {
		t.Fatalf("%s: %d entries, want 1, because crane and skopeo would need a choice", dir, len(top.Manifests))
	}
	if ref := top.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; ref != version {
		t.Errorf("%s: the tag is %q, want %q", dir, ref, version)
	}
	parse(t, blob(t, dir, top.Manifests[0], "application/vnd.oci.image.index.v1+json"), &index)
	l := layout{digest: top.Manifests[0].Digest, images: map[string]image{}}
	for _, m := range index.Manifests {
		img := image{dir: dir}
		parse(t, blob(t, dir, m, "application/vnd.oci.image.manifest.v1+json"), &img.manifest)
		parse(t, blob(t, dir, img.manifest.Config, "application/vnd.oci.image.config.v1+json"), &img.config)
		l.images[m.Platform.OS+"/"+m.Platform.Architecture] = img
	}
	return l
}

// unpack unpacks the image's layers into a folder, in order.
func (i image) unpack(t *testing.T, dir string) {
	t.Helper()
	if len(i.manifest.Layers) == 0 || len(i.manifest.Layers) != len(i.config.RootFS.DiffIDs) {
		t.Fatalf("%d layers, %d in the config", len(i.manifest.Layers), len(i.config.RootFS.DiffIDs))
	}
	for n, layer := range i.manifest.Layers {
		packed := strings.NewReader(blob(t, i.dir, layer, "application/vnd.oci.image.layer.v1.tar+gzip"))
		unzipped, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "layer.tar")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(file, unzipped); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		if got := "sha256:" + sum([]byte(read(t, path))); got != i.config.RootFS.DiffIDs[n] {
			t.Errorf("layer %d is %s, the config says %s", n, got, i.config.RootFS.DiffIDs[n])
		}
		untar(t, path, dir)
	}
}

func blob(t *testing.T, dir string, d descriptor, mediaType string) string {
	t.Helper()
	if d.MediaType != mediaType {
		t.Errorf("%s is %s, want %s", d.Digest, d.MediaType, mediaType)
	}
	content := read(t, filepath.Join(dir, "blobs", strings.Replace(d.Digest, ":", string(filepath.Separator), 1)))
	if int64(len(content)) != d.Size {
		t.Errorf("%s has %d bytes, want %d", d.Digest, len(content), d.Size)
	}
	return content
}

// untar unpacks an archive; the test's user owns the files.
func untar(t *testing.T, path, dir string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsLocal(header.Name) {
			t.Fatalf("%s: %q leads out of the archive", path, header.Name)
		}
		target := filepath.Join(dir, header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(target, 0o700)
		case tar.TypeReg:
			err = write(target, archive)
		default:
			t.Fatalf("%s: %q is neither a file nor a folder", path, header.Name)
		}
		if err == nil {
			err = os.Chmod(target, header.FileInfo().Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, content)
	return err
}

// walk yields the paths of all files in a folder.
func walk(t *testing.T, dir string) iter.Seq[string] {
	t.Helper()
	return func(yield func(string) bool) {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !yield(path) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func parse(t *testing.T, content string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(content), into); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
}
