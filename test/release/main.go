// Command release makes what is published for a tag out of the programs that `make binaries` built,
// and checks it: archives of the plugin with their licences, an SBOM of each, checksums, and the
// manifest for krew. The modules that a program holds are read from the program itself. The same
// programs give the same files, to the byte: nothing depends on the time, the user or the folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

const usage = `usage: release [-dist FOLDER] [-platforms 'OS/ARCH …'] archives | notices | checksums | ready | tagged

  archives   pack what make binaries built: archives, SBOMs, krew's manifest
  notices    write the notices of the programs that make binaries built, for images
  checksums  write the checksums of all files in the folder
  ready      check that krew's manifest can be made: version, history, and a clean tree
  tagged     check that the tree is ready for a tag of this version: manifest, change log, chart
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := execute(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func execute(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	dist := flags.String("dist", "dist", "")
	words := flags.String("platforms", everywhere, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	platforms := ParsePlatforms(*words)
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	stamp, err := ReadStamp(ctx, root)
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "archives":
		if err := checkWhole(ctx, root); err != nil {
			fmt.Fprintln(os.Stderr, "release: warning:", err)
		}
		return makeArchives(ctx, root, *dist, platforms, stamp)
	case "notices":
		return makeNotices(ctx, root, *dist, platforms)
	case "checksums":
		return makeChecksums(*dist, stamp)
	case "tagged":
		return checkTagged(ctx, root, *dist, stamp)
	case "ready":
		return checkReady(ctx, root, stamp)
	}
	flags.Usage()
	return errors.New("no command given")
}

// Stamp identifies the source of a release's programs.
type Stamp struct {
	Version, Commit string
	At              time.Time
}

// ReadStamp runs stamp.sh, as make does for a build.
func ReadStamp(ctx context.Context, root string) (Stamp, error) {
	out, err := output(ctx, root, nil, filepath.Join(root, "test/release/stamp.sh"))
	if err != nil {
		return Stamp{}, err
	}
	words := strings.Fields(out)
	if len(words) != 3 {
		return Stamp{}, errors.New("a release needs a clone with its history: git has the version, commit and date")
	}
	at, err := time.Parse(time.RFC3339, words[2])
	return Stamp{Version: words[0], Commit: words[1], At: at}, err
}

// output runs a program in a folder.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && len(failed.Stderr) > 0 {
		return "", errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

const (
	program    = "kubectl-k8sconnect"
	repository = "https://github.com/k8sconnect/kubectl-k8sconnect"
	license    = "LICENSE"
	notices    = "THIRD_PARTY_NOTICES"
	everywhere = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
)

// Platform is an operating system and an architecture, in Go's terms.
type Platform struct{ OS, Arch string }

// Platforms returns the platforms of a release.
func Platforms() []Platform { return ParsePlatforms(everywhere) }

// ParsePlatforms parses a list such as "linux/amd64 darwin/arm64".
func ParsePlatforms(text string) (platforms []Platform) {
	for word := range strings.FieldsSeq(text) {
		system, arch, _ := strings.Cut(word, "/")
		platforms = append(platforms, Platform{system, arch})
	}
	return platforms
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
	if p.OS == "windows" {
		return p.base(version) + ".zip"
	}
	return p.base(version) + ".tar.gz"
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
