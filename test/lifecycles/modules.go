package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// apiModule contains the types of most kinds; the other modules have one kind each.
const apiModule = "k8s.io/api"

// pin is a line of modules.txt.
type pin struct {
	path, version, sum string
}

// module is a pinned module on this machine.
type module struct {
	pin
	dir string
	// release is the types' Kubernetes release: k8s.io/api v0.29.x has those of 1.29.
	release deprecation.Release
	// date is the module's publication date in UTC.
	date string
}

func readPins(path string) ([]pin, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var pins []pin
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var p pin
		if _, err := fmt.Sscan(line, &p.path, &p.version, &p.sum); err != nil {
			return nil, fmt.Errorf("%s: not a module, a version and a checksum: %q", path, line)
		}
		pins = append(pins, p)
	}
	return pins, nil
}

// download fetches the modules with the go command, and refuses any that is not pinned.
func download(ctx context.Context, pins []pin) ([]module, error) {
	args := []string{"mod", "download", "-json"}
	for _, p := range pins {
		args = append(args, p.path+"@"+p.version)
	}
	// Outside of any module, no go.mod or go.sum affects the result.
	dir, err := os.MkdirTemp("", "generate-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // It is empty.
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GO111MODULE=on", "GOWORK=off", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	out, failed := cmd.Output()
	mods, err := decode(out, pins)
	return mods, cmp.Or(err, failed)
}

// decode decodes the go command's output: a JSON object for each module, in the order of pins.
func decode(out []byte, pins []pin) ([]module, error) {
	var mods []module
	dec := json.NewDecoder(bytes.NewReader(out))
	for _, p := range pins {
		var got struct{ Path, Version, Sum, Dir, Info, Error string }
		if err := dec.Decode(&got); err != nil || got.Error != "" {
			return nil, fmt.Errorf("go mod download: %s: %w", p.path, cmp.Or(err, errors.New(got.Error)))
		}
		if (pin{got.Path, got.Version, got.Sum}) != p {
			return nil, fmt.Errorf("%s %s is %s, pinned is %s %s %s", got.Path, got.Version, got.Sum, p.path, p.version, p.sum)
		}
		release, noRelease := deprecation.ParseRelease("1." + strings.TrimPrefix(p.version, "v0."))
		text, noInfo := os.ReadFile(got.Info)
		var published struct{ Time time.Time }
		if err := errors.Join(noRelease, noInfo, json.Unmarshal(text, &published)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", p.path, p.version, err)
		}
		mods = append(mods, module{pin: p, dir: got.Dir, release: release, date: published.Time.UTC().Format(time.DateOnly)})
	}
	return mods, nil
}

// newest returns the newest version of apiModule.
func newest(mods []module) module {
	var found module
	for _, m := range mods {
		if m.path == apiModule && m.release.Compare(found.release) > 0 {
			found = m
		}
	}
	return found
}
