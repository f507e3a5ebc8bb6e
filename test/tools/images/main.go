// Command images packs the static programs in DIST/binaries into container images, without a
// container engine and without a registry:
//
//	images -dist DIST -registry NAME -source URL -version 0.2.0 -revision COMMIT -created RFC3339
//
// For each image it writes an OCI layout as a folder in DIST/images and as one file in DIST, with
// all platforms, and for each platform an archive for `docker load`. The same input gives the same
// bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// release is common to all images of a release.
type release struct {
	dist, registry, source, version, revision string

	platforms []string
	created   time.Time
}

// product is an image: a program, which names it, and its environment.
type product struct {
	program, title, description string

	base  []file
	env   []string
	ports map[string]struct{}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	var r release
	flag.StringVar(&r.dist, "dist", "dist", "folder of binaries/linux_amd64/PROGRAM, binaries/linux_amd64/PROGRAM.notices and so on, and of the output")
	platforms := flag.String("platforms", "linux/amd64 linux/arm64", "platforms, with spaces between them")
	flag.StringVar(&r.registry, "registry", "ghcr.io/k8sconnect", "where the images are to be pushed: the first part of their names")
	flag.StringVar(&r.source, "source", "", "address of the source")
	flag.StringVar(&r.version, "version", "", "version, which is the tag as well")
	flag.StringVar(&r.revision, "revision", "", "commit that the programs were built from; none if it is not known")
	created := flag.String("created", "", "time of all files, in RFC 3339: that of the commit; 1970 if it is not known")
	flag.Parse()
	r.platforms, r.created = strings.Fields(*platforms), time.Unix(0, 0)
	if *created != "" {
		if r.created, err = time.Parse(time.RFC3339, *created); err != nil {
			return fmt.Errorf("-created: %w", err)
		}
	}
	r.created = r.created.UTC()
	var digests strings.Builder
	err = os.RemoveAll(filepath.Join(r.dist, "images"))
	for _, p := range []product{
		{
			program: "kubectl-k8sconnect", title: "kubectl-k8sconnect",
			description: "Server-side apply that people can trust: the kubectl plugin, for jobs and pipelines",
			base:        userland(),
			// The discovery cache is below HOME.
			env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/", "HOME=/home/nonroot"},
		},
		{
			// It only connects to the API server, whose CA each pod is given.
			program: "webhook", title: "k8sconnect webhook",
			description: "Tells who took whose field and which API is deprecated, and never denies a request",
			env:         []string{"PATH=/"},
			ports:       map[string]struct{}{"10250/tcp": {}, "8080/tcp": {}, "8081/tcp": {}},
		},
	} {
		reference, writeErr := r.write(p)
		err = errors.Join(err, writeErr)
		fmt.Fprintln(&digests, reference)
	}
	if err != nil {
		return err
	}
	fmt.Print(digests.String())
	return os.WriteFile(filepath.Join(r.dist, "digests.txt"), []byte(digests.String()), 0o644)
}

// write writes an image in all formats, and returns its reference for clusters.
func (r release) write(p product) (reference string, err error) {
	tag, err := name.NewTag(r.registry+"/"+p.program+":"+r.version, name.StrictValidation)
	if err != nil {
		return "", err
	}
	base := filepath.Join(r.dist, p.program+"_v"+r.version)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, text := range r.platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return "", err
		}
		img, err := r.image(p, platform)
		if err != nil {
			return "", fmt.Errorf("%s for %s: %w", p.program, platform, err)
		}
		if err := tarball.WriteToFile(fmt.Sprintf("%s_%s_%s.docker.tar", base, platform.OS, platform.Architecture), tag, img); err != nil {
			return "", err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
	}
	index = mutate.Annotations(index, r.labels(p)).(v1.ImageIndex)
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	// An OCI layout has one entry, the index of all platforms, so that crane and skopeo need not
	// select a platform.
	dir := filepath.Join(r.dist, "images", p.program)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(), // skopeo, podman
		"io.containerd.image.name":          tag.Name(),   // containerd, docker
	}))
	if err != nil {
		return "", err
	}
	var files []file
	tree := os.DirFS(dir)
	err = fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, path)
		files = append(files, file{name: path, content: content})
		return err
	})
	return tag.Name() + "@" + digest.String(), errors.Join(err, os.WriteFile(base+".oci.tar", archive(files, r.created), 0o644))
}

// image packs a program for a platform: first its environment, which changes least, then the
// program.
func (r release) image(p product, platform *v1.Platform) (v1.Image, error) {
	path := filepath.Join(r.dist, "binaries", platform.OS+"_"+platform.Architecture, p.program)
	program, programErr := os.ReadFile(path)
	notices, noticesErr := os.ReadFile(path + ".notices") // for its linked modules
	license, licenseErr := os.ReadFile("LICENSE")
	if err := errors.Join(programErr, noticesErr, licenseErr); err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		comment string
		files   []file
	}{
		{"accounts, folders and certificate authorities", p.base},
		{"licenses", []file{{name: "licenses/LICENSE", content: license}, {name: "licenses/THIRD_PARTY_NOTICES", content: notices}}},
		{p.program, []file{{name: p.program, mode: 0o755, content: program}}},
	} {
		if len(part.files) == 0 {
			continue
		}
		layer, err := newLayer(part.files, r.created)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: r.created}, CreatedBy: "make images", Comment: part.comment},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Created = v1.Time{Time: r.created}
	config.Config = v1.Config{
		User:         "65532:65532", // with runAsNonRoot, the kubelet cannot check a name
		Entrypoint:   []string{"/" + p.program},
		Env:          p.env,
		WorkingDir:   "/",
		Labels:       r.labels(p),
		ExposedPorts: p.ports,
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, r.labels(p)).(v1.Image), nil
}

// labels are the same in each config, each manifest and the index: registries show the index's
// labels, and container engines the config's.
func (r release) labels(p product) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":       p.title,
		"org.opencontainers.image.description": p.description,
		"org.opencontainers.image.source":      r.source,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.revision,
		"org.opencontainers.image.created":     r.created.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return labels
}
