package table

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

type outside struct {
	output.External
	files []file
}

type file struct {
	name, before, after string
}

func (o *outside) add(c event.Compared, before, after string) {
	if before != after {
		o.files = append(o.files, file{name: fileName(c.Ref), before: before, after: after})
	}
}

func (o *outside) run(ctx context.Context) (err error) {
	if len(o.files) == 0 {
		return nil
	}
	root, err := os.MkdirTemp("", "kubectl-k8sconnect-diff-")
	if err != nil {
		return fmt.Errorf("external diff: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()

	live, merged := filepath.Join(root, "LIVE"), filepath.Join(root, "MERGED")
	if err := o.write(live, merged); err != nil {
		return fmt.Errorf("external diff: %w", err)
	}
	args := append(append([]string{}, o.Args...), live, merged)
	return o.verdict(o.Run(ctx, o.Name, args))
}

func (o *outside) write(live, merged string) error {
	for _, dir := range []string{live, merged} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	for _, f := range o.files {
		if err := os.WriteFile(filepath.Join(live, f.name), []byte(f.before), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(merged, f.name), []byte(f.after), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// verdict interprets the program's error. As with diff(1), exit code 1 means differences.
func (o *outside) verdict(err error) error {
	var exit interface {
		error
		ExitCode() int
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return nil
	default:
		return fmt.Errorf("external diff program %q: %w", o.Name, err)
	}
}

// fileName returns the name of an object's file, as in kubectl diff. It escapes characters that
// file systems reject, and replaces the end of a long name with a checksum.
func fileName(ref object.Ref) string {
	const longest = 200
	words := []string{ref.GVK.Version, ref.GVK.Kind, ref.Namespace, ref.Name}
	if ref.GVK.Group != "" {
		words = append([]string{ref.GVK.Group}, words...)
	}
	var b strings.Builder
	for _, c := range []byte(strings.Join(words, ".")) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) > longest {
		sum := sha256.Sum256([]byte(name))
		name = fmt.Sprintf("%s-%x", name[:longest], sum[:4])
	}
	return name
}
