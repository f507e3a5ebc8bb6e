package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file in an archive, or a folder if its name ends in a slash.
type file struct {
	name    string
	mode    int64 // 0 means 0644, or 0755 for a folder
	owner   int
	content []byte
}

// userland returns the files that the plugin needs: its account, a home, a temporary folder, and
// public CA certificates: Mozilla's list, as the Go project maintains it. It excludes CAs that
// Mozilla trusts only for certificates before some date, which a file of certificates cannot express.
func userland() []file {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return []file{
		{name: "etc/passwd", content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", content: authorities.Bytes()},
		{name: "home/nonroot/", mode: 0o750, owner: 65532},
		{name: "tmp/", mode: 0o1777},
	}
}

func newLayer(files []file, at time.Time) (v1.Layer, error) {
	content := archive(files, at)
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression),
		tarball.WithCompressedCaching)
}

// archive packs files, and the folders above them, ordered by name and all with the same time. A
// write to memory does not fail, and the names and sizes are valid.
func archive(files []file, at time.Time) []byte {
	all := map[string]file{}
	for _, f := range files {
		for dir := path.Dir(path.Clean(f.name)); dir != "."; dir = path.Dir(dir) {
			if _, named := all[dir+"/"]; !named {
				all[dir+"/"] = file{name: dir + "/"}
			}
		}
		all[f.name] = f
	}
	var out bytes.Buffer
	to := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(f.content)),
			Uid: f.owner, Gid: f.owner, ModTime: at, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, 0o755
		}
		if f.mode != 0 {
			header.Mode = f.mode
		}
		_ = to.WriteHeader(header)
		_, _ = to.Write(f.content)
	}
	_ = to.Close()
	return out.Bytes()
}
