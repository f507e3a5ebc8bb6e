package release

import (
	"fmt"
	"path/filepath"
	"strings"
)

const (
	program    = "kubectl-k8sconnect"
	repository = "https://github.com/k8sconnect/kubectl-k8sconnect"
	license    = "LICENSE"
	notices    = "THIRD_PARTY_NOTICES"
)

// Platform is an operating system and an architecture, in Go's terms.
type Platform struct{ OS, Arch string }

// Platforms returns the platforms of a release.
func Platforms() []Platform {
	return []Platform{
		{"linux", "amd64"},
		{"linux", "arm64"},
		{"darwin", "amd64"},
		{"darwin", "arm64"},
		{"windows", "amd64"},
		{"windows", "arm64"},
	}
}

// ParsePlatforms parses a list such as "linux/amd64 darwin/arm64".
func ParsePlatforms(text string) ([]Platform, error) {
	var platforms []Platform
	for word := range strings.FieldsSeq(text) {
		system, arch, ok := strings.Cut(word, "/")
		if !ok {
			return nil, fmt.Errorf("platform %q is not OS/ARCH", word)
		}
		platforms = append(platforms, Platform{system, arch})
	}
	return platforms, nil
}

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// executable returns a program's file name on the platform.
func (p Platform) executable(name string) string {
	if p.OS == "windows" {
		return name + ".exe"
	}
	return name
}

// binary returns the path of a program from `make binaries`.
func (p Platform) binary(dist, name string) string {
	return filepath.Join(dist, "binaries", p.OS+"_"+p.Arch, p.executable(name))
}

// archive returns the name of the plugin's archive, in the platform's usual format.
func (p Platform) archive(version string) string {
	ending := ".tar.gz"
	if p.OS == "windows" {
		ending = ".zip"
	}
	return p.base(version) + ending
}

func (p Platform) sbom(version string) string { return p.base(version) + ".spdx.json" }

func (p Platform) base(version string) string {
	return fmt.Sprintf("%s_%s_%s_%s", program, version, p.OS, p.Arch)
}

func checksums(version string) string { return fmt.Sprintf("%s_%s_checksums.txt", program, version) }

// download returns the URL of a file in a release.
func download(version, file string) string {
	return fmt.Sprintf("%s/releases/download/%s/%s", repository, version, file)
}
