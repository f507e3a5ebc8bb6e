package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user ID of the programs.
const nonroot = 65532

// file is a file in an image, or a folder if its name ends in a slash.
type file struct {
	name    string
	mode    int64 // 0 means 0644, or 0755 for a folder
	owner   int
	content []byte
}

// userland returns the files that the plugin needs: its account, a home, a temporary folder, and
// public CA certificates.
func userland() ([]file, error) {
	return []file{
		{name: "etc/passwd", content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", content: authorities()},
		{name: "home/nonroot/", mode: 0o750, owner: nonroot},
		{name: "tmp/", mode: 0o1777},
	}, nil
}

// authorities is Mozilla's CA list, as the Go project maintains it. It excludes CAs that Mozilla
// trusts only for certificates before some date, which a file of certificates cannot express.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return all.Bytes()
}

// newLayer packs files, and the folders above them, all with the same time.
func newLayer(files []file, at time.Time) (v1.Layer, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, f := range withFolders(files) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)),
			Uid: f.owner, Gid: f.owner, ModTime: at, Format: tar.FormatPAX,
		}
		fallbackMode := int64(0o644)
		if isFolder(f.name) {
			header.Typeflag, fallbackMode = tar.TypeDir, 0o755
		}
		if header.Mode == 0 {
			header.Mode = fallbackMode
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	return tarball.LayerFromOpener(open,
		tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression),
		tarball.WithCompressedCaching)
}

func isFolder(name string) bool { return name[len(name)-1] == '/' }

// withFolders adds missing parent folders, each before its contents.
func withFolders(files []file) []file {
	named := map[string]bool{}
	for _, f := range files {
		named[f.name] = true
	}
	all := slices.Clone(files)
	for _, f := range files {
		for dir := path.Dir(path.Clean(f.name)); dir != "."; dir = path.Dir(dir) {
			if !named[dir+"/"] {
				named[dir+"/"] = true
				all = append(all, file{name: dir + "/"})
			}
		}
	}
	slices.SortFunc(all, func(a, b file) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return all
}
