package main

import (
	"os"
	"strings"
	"testing"
)

func valid() string {
	sums := map[Platform]string{}
	for i, p := range Platforms() {
		sums[p] = strings.Repeat(string("0123456789abcdef"[i]), 64)
	}
	return manifest("v1.2.3", sums)
}

// Each of krew's rules refuses a manifest that violates only that rule.
func TestManifestRules(t *testing.T) {
	if _, err := readManifest([]byte(valid())); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another API version":                     {"v1alpha2", "v1beta1"},
		"another kind":                            {"kind: Plugin", "kind: Plugins"},
		"name with the prefix kubectl-":           {"name: k8sconnect", "name: kubectl-k8sconnect"},
		"a name in upper case":                    {"name: k8sconnect", "name: K8sconnect"},
		"version without a v":                     {"version: v1.2.3", "version: 1.2.3"},
		"version without a patch number":          {"version: v1.2.3", "version: v1.2"},
		"no homepage":                             {"homepage: https://github.com/k8sconnect/kubectl-k8sconnect", "homepage: ''"},
		"a field unknown to krew":                 {"spec:\n", "spec:\n  website: x\n"},
		"kubectl in the short description":        {"shortDescription: S", "shortDescription: kubectl s"},
		"two lines in the short description":      {"shortDescription: S", "shortDescription: \"a\\nb\" # "},
		"a long short description":                {"shortDescription: ", "shortDescription: " + strings.Repeat("very ", 10)},
		"a description in long lines":             {"description: |\n", "description: |\n    " + strings.Repeat("very ", 20) + "\n"},
		"a caveat in long lines":                  {"caveats: |\n", "caveats: |\n    " + strings.Repeat("very ", 20) + "\n"},
		"the same platform twice":                 {"os: darwin\n          arch: amd64", "os: linux\n          arch: amd64"},
		"an unknown platform":                     {"arch: arm64", "arch: aarch64"},
		"no architecture":                         {"          arch: arm64\n", ""},
		"an unknown label":                        {"          arch: arm64\n", "          arch: arm64\n          libc: musl\n"},
		"an archive format unknown to krew":       {".tar.gz", ".tar.xz"},
		"download without TLS":                    {"uri: https:", "uri: http:"},
		"a short checksum":                        {`sha256: "0`, `sha256: "`},
		"a checksum in upper case":                {`sha256: "0`, `sha256: "A`},
		"a checksum that YAML parses as a number": {`"` + strings.Repeat("0", 64) + `"`, strings.Repeat("0", 64)},
		"no licence":                              {"        - {from: LICENSE, to: .}\n", ""},
		"a source outside of the archive":         {"from: LICENSE", "from: ../LICENSE"},
		"a target outside of the folder":          {"to: .}", "to: /usr/bin}"},
		"no program":                              {"bin: kubectl-k8sconnect\n", "bin: ''\n"},
		"a missing program":                       {"bin: kubectl-k8sconnect\n", "bin: k8sconnect\n"},
		"a program without .exe":                  {"bin: kubectl-k8sconnect.exe", "bin: kubectl-k8sconnect"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid(), change[0]) {
				t.Fatalf("the valid manifest does not contain %q", change[0])
			}
			if _, err := readManifest([]byte(strings.Replace(valid(), change[0], change[1], 1))); err == nil {
				t.Error("the manifest was accepted")
			}
		})
	}
}

// The committed file equals the generated one for its version and checksums. Before the first
// release, it says so, and krew finds nothing to install.
func TestCommittedManifest(t *testing.T) {
	text, err := os.ReadFile("../../krew-manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[Platform]string{}
	for _, p := range m.Spec.Platforms {
		sums[p.platform()] = p.SHA256
	}
	if string(text) != manifest(m.Spec.Version, sums) {
		t.Error("krew-manifest.yaml differs from what make krew-manifest writes: change test/release/krew.go instead")
	}
	for platform, sum := range sums {
		if none := strings.Trim(sum, "0") == ""; none != unreleased(sums) {
			t.Errorf("%s: some platforms have a checksum and some do not: %s", platform, sum)
		}
	}
	if !released.MatchString(m.Spec.Version) {
		t.Errorf("%s is not a release version", m.Spec.Version)
	}
}
