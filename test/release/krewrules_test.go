package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// krewManifest is the part of a manifest that krew reads.
type krewManifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Files  []struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"files"`
	Bin string `json:"bin"`
}

func (p krewPlatform) platform() Platform {
	return Platform{p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]}
}

var (
	krewName    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	krewVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
	krewSHA256  = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// readManifest checks a manifest against the rules that krew enforces when it installs, and those by
// which its index is reviewed: the developer guide's, and the checks of the index's own CI.
func readManifest(text []byte) (*krewManifest, error) {
	var m krewManifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return nil, fmt.Errorf("krew manifest: %w", err)
	}
	var wrong []error
	rule := func(holds bool, format string, args ...any) {
		if !holds {
			wrong = append(wrong, fmt.Errorf("krew manifest: "+format, args...))
		}
	}
	rule(m.APIVersion == "krew.googlecontainertools.github.com/v1alpha2", "krew does not know apiVersion %q", m.APIVersion)
	rule(m.Kind == "Plugin", "kind is %q, not Plugin", m.Kind)
	rule(krewName.MatchString(m.Metadata.Name), "name %q is not lower case with hyphens", m.Metadata.Name)
	rule(!strings.HasPrefix(m.Metadata.Name, "kube"), "name %q starts with kube, like the program", m.Metadata.Name)
	rule(krewVersion.MatchString(m.Spec.Version), "version %q is not a semantic version with a v", m.Spec.Version)
	rule(strings.HasPrefix(m.Spec.Homepage, "https://"), "homepage %q is not an https URL", m.Spec.Homepage)
	short := m.Spec.ShortDescription
	rule(short != "" && !strings.ContainsAny(short, "\r\n"), "shortDescription has to be one line")
	rule(len(short) <= 50 && !strings.HasSuffix(short, "."), "shortDescription has to be short, without a full stop")
	rule(!strings.Contains(strings.ToLower(short), "kubectl"), "shortDescription names kubectl")
	rule(m.Spec.Description != "" && narrow(m.Spec.Description), "description is missing, or has lines of more than 80 characters")
	rule(m.Spec.Caveats == "" || narrowProse(m.Spec.Caveats), "caveats have a line longer than 80 characters")
	seen := map[Platform]bool{}
	for i, p := range m.Spec.Platforms {
		rule(!seen[p.platform()], "platforms[%d] selects %s again", i, p.platform())
		seen[p.platform()] = true
		for _, err := range p.check() {
			wrong = append(wrong, fmt.Errorf("krew manifest: platforms[%d]: %w", i, err))
		}
	}
	for _, p := range Platforms() {
		rule(seen[p], "no platform for %s", p)
	}
	return &m, errors.Join(wrong...)
}

func (p krewPlatform) check() []error {
	var wrong []error
	rule := func(holds bool, format string, args ...any) {
		if !holds {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	labels := p.Selector.MatchLabels
	rule(len(labels) == 2 && labels["os"] != "" && labels["arch"] != "", "selector has to match os and arch, and nothing else")
	rule(strings.HasPrefix(p.URI, "https://"), "uri %q is not an https URL", p.URI)
	rule(strings.HasSuffix(p.URI, ".tar.gz") || strings.HasSuffix(p.URI, ".zip"), "uri %q is neither .tar.gz nor .zip", p.URI)
	rule(krewSHA256.MatchString(p.SHA256), "sha256 %q is not a lower-case checksum", p.SHA256)
	rule(len(p.Files) > 0, "files is empty")
	installed := false
	licensed := false
	for _, f := range p.Files {
		rule(inside(f.From) && inside(f.To), "files: from %q to %q leaves the folder", f.From, f.To)
		installed = installed || path.Join(f.To, path.Base(f.From)) == path.Clean(p.Bin)
		licensed = licensed || path.Base(f.From) == license
	}
	rule(p.Bin != "" && installed, "bin %q is not one of the files", p.Bin)
	rule(licensed, "files lack %s", license)
	rule(labels["os"] != "windows" || strings.HasSuffix(p.Bin, ".exe"), "bin %q does not end in .exe", p.Bin)
	return wrong
}

func inside(name string) bool {
	return name != "" && !path.IsAbs(name) && !slices.Contains(strings.Split(name, "/"), "..")
}

// narrow reports whether all lines have at most 80 characters.
func narrow(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return len(line) > 80 })
}

// narrowProse is narrow without commands, which are indented and cannot be wrapped.
func narrowProse(text string) bool {
	var prose []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "  ") {
			prose = append(prose, line)
		}
	}
	return narrow(strings.Join(prose, "\n"))
}
