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

// Platform is an operating system and a processor, as Go names them.
type Platform struct{ OS, Arch string }

// Platforms returns those that a release is for.
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

// ParsePlatforms reads a list such as "linux/amd64 darwin/arm64".
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

// executable is the file name of a program there.
func (p Platform) executable(name string) string {
	if p.OS == "windows" {
		return name + ".exe"
	}
	return name
}

// binary is where `make binaries` puts a program.
func (p Platform) binary(dist, name string) string {
	return filepath.Join(dist, "binaries", p.OS+"_"+p.Arch, p.executable(name))
}

// archive is the file name of the plugin's archive, in a format that its system unpacks
// by itself.
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

// download is where a file of a release can be had.
func download(version, file string) string {
	return fmt.Sprintf("%s/releases/download/%s/%s", repository, version, file)
}
