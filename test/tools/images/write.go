package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// output contains the target folders: layouts, which crane pushes, and files to distribute.
type output struct{ layouts, files string }

// writeAll writes each image in all formats, and digests.txt with a line for each, as a reference
// for clusters.
func (r release) writeAll(binaries string, out output, platforms []string) error {
	if err := os.RemoveAll(out.layouts); err != nil {
		return err
	}
	for _, dir := range []string{out.layouts, out.files} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	var parsed []v1.Platform
	for _, platform := range platforms {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return err
		}
		parsed = append(parsed, *p)
	}
	var digests strings.Builder
	for _, p := range products() {
		index, images, err := r.index(p, parsed, binaries)
		if err != nil {
			return err
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		tag, err := name.NewTag(r.registry+"/"+p.name+":"+r.version, name.StrictValidation)
		if err != nil {
			return err
		}
		dir := filepath.Join(out.layouts, p.name)
		if err := writeLayout(dir, index, tag); err != nil {
			return err
		}
		base := filepath.Join(out.files, p.name+"_v"+r.version)
		if err := archiveFolder(base+".oci.tar", dir, r.created); err != nil {
			return err
		}
		for platform, img := range images {
			if err := tarball.WriteToFile(base+"_"+platform+".docker.tar", tag, img); err != nil {
				return err
			}
		}
		fmt.Fprintf(&digests, "%s@%s\n", tag.Name(), digest)
	}
	fmt.Print(digests.String())
	return os.WriteFile(filepath.Join(out.files, "digests.txt"), []byte(digests.String()), 0o644)
}

// writeLayout writes an OCI layout with one entry, the index of all platforms, so that crane and
// skopeo need not select a platform.
func writeLayout(dir string, index v1.ImageIndex, tag name.Tag) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(), // skopeo, podman
		"io.containerd.image.name":          tag.Name(),   // containerd, docker
	}))
}

// archiveFolder packs a folder into one file, ordered by name. All files have the same time and
// owner.
func archiveFolder(path, dir string, at time.Time) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, file.Close()) }()
	archive := tar.NewWriter(file)
	defer func() { err = firstError(err, archive.Close()) }()
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(relative) + "/", Mode: 0o755, ModTime: at}
		if entry.IsDir() {
			return archive.WriteHeader(header)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header.Typeflag, header.Name, header.Mode, header.Size = tar.TypeReg, filepath.ToSlash(relative), 0o644, info.Size()
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		content, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		_, err = io.Copy(archive, content)
		return err
	})
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
