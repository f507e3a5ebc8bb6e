package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is a number: with runAsNonRoot, the kubelet cannot check a name.
const user = "65532:65532"

// release is common to all images of a release.
type release struct {
	registry, source, version, revision string

	created time.Time
	license []byte
}

// product is an image: a program and its environment.
type product struct {
	name        string // image name below the registry
	program     string
	title       string
	description string
	base        func() ([]file, error)
	env         []string
	ports       []string
}

func products() []product {
	return []product{
		{
			name:        "kubectl-k8sconnect",
			program:     "kubectl-k8sconnect",
			title:       "kubectl-k8sconnect",
			description: "Server-side apply that people can trust: the kubectl plugin, for jobs and pipelines",
			base:        userland,
			// The discovery cache is below HOME.
			env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/", "HOME=/home/nonroot"},
		},
		{
			name:        "webhook",
			program:     "webhook",
			title:       "k8sconnect webhook",
			description: "Tells who took whose field and which API is deprecated, and never denies a request",
			// It only connects to the API server, whose CA each pod is given.
			base:  func() ([]file, error) { return nil, nil },
			env:   []string{"PATH=/"},
			ports: []string{"10250/tcp", "8080/tcp", "8081/tcp"},
		},
	}
}

// image packs a program for a platform: first its environment, which changes least, then the
// program.
func (r release) image(p product, platform v1.Platform, binaries string) (v1.Image, error) {
	base, err := p.base()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(binaries, platform.OS+"_"+platform.Architecture, p.program)
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	notices, err := os.ReadFile(path + ".notices") // for its linked modules
	if err != nil {
		return nil, err
	}
	licenses := []file{
		{name: "licenses/LICENSE", content: r.license},
		{name: "licenses/THIRD_PARTY_NOTICES", content: notices},
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		comment string
		files   []file
	}{
		{"accounts, folders and certificate authorities", base},
		{"licenses", licenses},
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
			Layer: layer,
			History: v1.History{
				Created: v1.Time{Time: r.created}, CreatedBy: "make images", Comment: part.comment,
			},
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
		User:       user,
		Entrypoint: []string{"/" + p.program},
		Env:        p.env,
		WorkingDir: "/",
		Labels:     r.labels(p),
	}
	for _, port := range p.ports {
		if config.Config.ExposedPorts == nil {
			config.Config.ExposedPorts = map[string]struct{}{}
		}
		config.Config.ExposedPorts[port] = struct{}{}
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, r.labels(p)).(v1.Image), nil
}

// index combines the images of all platforms under one digest.
func (r release) index(p product, platforms []v1.Platform, binaries string) (v1.ImageIndex, map[string]v1.Image, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	images := map[string]v1.Image{}
	for _, platform := range platforms {
		img, err := r.image(p, platform, binaries)
		if err != nil {
			return nil, nil, fmt.Errorf("%s for %s: %w", p.name, platform.String(), err)
		}
		images[platform.OS+"_"+platform.Architecture] = img
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &platform},
		})
	}
	return mutate.Annotations(index, r.labels(p)).(v1.ImageIndex), images, nil
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
