package main

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

const manifestHead = `# The manifest by which krew installs the plugin. make krew-manifest VERSION=vX.Y.Z writes
# it, with the checksums of the archives that make release makes of this very commit.
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: k8sconnect
spec:
  version: %s
  homepage: %s
  shortDescription: Server-side apply that explains conflicts
  description: |
    Applies, diffs, waits for and deletes sets of manifests by server-side apply,
    and shows who owns which field.

    A conflict is explained field by field, with both values, the owner and the
    ways out, before anything of its phase is written. A diff shows what apply
    would really change of what you own. A deletion or a rollout that hangs is
    told with its cause.
  caveats: |
    One more step makes kubectl complete the plugin's verbs, flags and names, on
    Linux and macOS:

      ln -sf kubectl-k8sconnect "${KREW_ROOT:-$HOME/.krew}/bin/kubectl_complete-k8sconnect"

    On Windows, and for what has to be set up once in each shell, see
    %s/blob/main/docs/completion.md
  platforms:
`

const manifestPlatform = `    - selector:
        matchLabels:
          os: %s
          arch: %s
      uri: %s
      sha256: "%s"
      files:
        - {from: %[5]s, to: .}
        - {from: %[6]s, to: .}
        - {from: %[7]s, to: .}
      bin: %[5]s
`

// manifest returns krew's manifest for a version, with each platform's checksum.
func manifest(version string, sums map[Platform]string) string {
	var out strings.Builder
	if unreleased(sums) {
		out.WriteString("# Not released yet: the checksums below are those of no archive.\n")
	}
	fmt.Fprintf(&out, manifestHead, version, repository, repository)
	for _, p := range Platforms() {
		if sums[p] != "" {
			fmt.Fprintf(&out, manifestPlatform, p.OS, p.Arch, download(version, p.archive(version)), sums[p],
				p.executable(program), license, notices)
		}
	}
	return out.String()
}

// unreleased reports whether the checksums are placeholders, as in the repository before the first
// release: krew then installs nothing.
func unreleased(sums map[Platform]string) bool {
	for _, sum := range sums {
		if strings.Trim(sum, "0") != "" {
			return false
		}
	}
	return true
}

func sha256Of(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// released matches the version of a tag, but not versions between tags.
var released = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(alpha|beta|rc)\.\d+)?$`)
