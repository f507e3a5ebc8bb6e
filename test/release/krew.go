package main

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

const manifestHead = `# krew's manifest of the plugin. make krew-manifest VERSION=vX.Y.Z writes it, with the checksums of
# the archives that make release builds from this commit.
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: k8sconnect
spec:
  version: %s
  homepage: %s
  shortDescription: Server-side apply that explains conflicts
  description: |
    Applies manifests with server-side apply, shows their diff, waits until they
    are ready, deletes them, and shows who owns which field.

    Conflicts are explained field by field, with both values, the owner and the
    ways to resolve them, before anything in the same phase is written. The diff
    shows only the changes that apply would make to your fields. If a rollout or
    a deletion is stuck, the cause is shown.
  caveats: |
    To let kubectl complete the plugin's verbs, flags and names, on Linux and
    macOS, run:

      ln -sf kubectl-k8sconnect "${KREW_ROOT:-$HOME/.krew}/bin/kubectl_complete-k8sconnect"

    For Windows, and for the setup of your shell, see
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
		out.WriteString("# Not released yet: the checksums below are placeholders.\n")
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
