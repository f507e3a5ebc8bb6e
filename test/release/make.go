package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
)

// makeArchives packs the plugin of every platform in dist/binaries with its licences, and writes
// the archives, their SBOMs and krew's manifest to dist.
func makeArchives(ctx context.Context, root, dist string, platforms []Platform, stamp Stamp) error {
	ours, err := os.ReadFile(filepath.Join(root, license))
	if err != nil {
		return err
	}
	sums := map[Platform]string{}
	for _, p := range platforms {
		binary := p.binary(dist, program)
		software, err := linked(ctx, root, binary)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		name := p.archive(stamp.Version)
		archive, err := pack(name, fstest.MapFS{
			license:               {Mode: 0o644, Data: ours, ModTime: stamp.At},
			notices:               {Mode: 0o644, Data: software.notices(), ModTime: stamp.At},
			p.executable(program): {Mode: 0o755, Data: data, ModTime: stamp.At},
		})
		if err != nil {
			return err
		}
		sums[p] = sha256Of(archive)
		sbom, err := software.sbom(name, sums[p], stamp)
		if err := errors.Join(err, write(dist, name, archive), write(dist, p.sbom(stamp.Version), sbom)); err != nil {
			return err
		}
	}
	return write(dist, "krew-manifest.yaml", []byte(manifest(stamp.Version, sums)))
}

// pack creates an archive, a zip if its name says so. Files of a MapFS have no owner.
func pack(name string, files fstest.MapFS) ([]byte, error) {
	var out bytes.Buffer
	if strings.HasSuffix(name, ".zip") {
		archive := zip.NewWriter(&out)
		archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
			return flate.NewWriter(w, flate.BestCompression)
		})
		err := errors.Join(archive.AddFS(files), archive.Close())
		return out.Bytes(), err
	}
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	err = errors.Join(archive.AddFS(files), archive.Close(), compressed.Close())
	return out.Bytes(), err
}

// makeNotices writes a file PROGRAM.notices next to every program in dist/binaries, for other ways
// of packaging.
func makeNotices(ctx context.Context, root, dist string, platforms []Platform) error {
	for _, p := range platforms {
		for _, name := range []string{program, "webhook"} {
			binary := p.binary(dist, name)
			if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			software, err := linked(ctx, root, binary)
			if err != nil {
				return err
			}
			if err := os.WriteFile(binary+".notices", software.notices(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeChecksums writes the checksums of all files in dist, in the format of sha256sum.
func makeChecksums(dist string, stamp Stamp) error {
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

// published returns the files in dist except for the checksums, sorted. Files in subfolders, such
// as the programs, are not published.
func published(dist, version string) (names []string, err error) {
	entries, err := os.ReadDir(dist)
	for _, entry := range entries {
		if entry.Type().IsRegular() && entry.Name() != checksums(version) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

func write(dist, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dist, name), data, 0o644)
}
