// Package always keeps an answer of the prompt for later runs: as a rule in the configuration file,
// or as an annotation in the manifest.
package always

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/prompt"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// Keeper implements [prompt.Keeper] for a run.
type Keeper struct {
	// File is the configuration file; empty if none can be written.
	File string
	Plan *plan.Plan
}

// Places implements [prompt.Keeper].
func (k Keeper) Places(ref object.Ref) prompt.Places {
	p := prompt.Places{
		File:   k.File,
		Reason: "the input has no folder for " + manifest.ConfigFile + "; name a file with --config=FILE",
	}
	if _, err := os.Lstat(k.File); k.File != "" && errors.Is(err, fs.ErrNotExist) {
		p.IsNew = true
	}
	if at := k.source(ref); at.Line > 0 {
		if info, err := os.Stat(at.File); err == nil && info.Mode().IsRegular() {
			p.Manifest = at.String()
		}
	}
	return p
}

func (k Keeper) source(ref object.Ref) object.Source {
	for item := range k.Plan.Items() {
		if item.Ref == ref {
			return item.Source
		}
	}
	return object.Source{}
}

// Keep implements [prompt.Keeper].
func (k Keeper) Keep(rule prompt.Rule) (string, error) {
	at := k.source(rule.Ref)
	if rule.InManifest {
		return annotate(at, rule.Ref, rule.Paths)
	}
	ref := rule.Ref
	if text, err := os.ReadFile(at.File); err == nil && at.Line > 0 {
		meta, _ := yamldoc.ObjectAt(text, at.Line)["metadata"].(map[string]any)
		if _, declared := meta["namespace"]; !declared {
			ref.Namespace = "" // One folder can be applied to several namespaces.
		}
	}
	text, err := os.ReadFile(k.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	edited, line, written, err := config.Yield(k.File, text, ref, rule.Paths)
	if err != nil {
		return "", object.Hinted("add this rule to yield: "+written, "%s: %w", k.File, err)
	}
	return fmt.Sprintf("%s:%d: %s", k.File, line, written), replace(k.File, edited)
}

func annotate(at object.Source, ref object.Ref, paths []string) (string, error) {
	text, err := os.ReadFile(at.File)
	if err != nil {
		return "", err
	}
	value := strings.Join(paths, ",")
	edited, line, err := yamldoc.SetAnnotation(text, at.Line, predict.YieldAnnotation, func(now map[string]any) (string, bool) {
		meta, _ := now["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if before, _ := annotations[predict.YieldAnnotation].(string); strings.TrimSpace(before) != "" {
			value = before + "," + value
		}
		return value, now["kind"] == ref.GVK.Kind && meta["name"] == ref.Name
	})
	if err != nil {
		return "", object.Hinted(fmt.Sprintf("add the annotation %s: %q", predict.YieldAnnotation, value), "%s: %w", at, err)
	}
	return fmt.Sprintf("%s:%d: %s: %q", at.File, line, predict.YieldAnnotation, value), replace(at.File, edited)
}

// replace replaces a file at once, so that an interrupt does not leave half of it. It follows links
// and keeps the mode.
func replace(path string, content []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".k8sconnect-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
