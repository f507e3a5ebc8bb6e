package diff

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// patcher writes what others have changed into the manifest files.
type patcher struct {
	// hide masks a text as the output does.
	hide func(string) string

	mu       sync.Mutex
	compared []event.Compared
	// originals are the manifests as read, and manifests those after the edits so far.
	originals, manifests map[object.Key]*unstructured.Unstructured
}

// patchable returns an error for input that is not in files.
func patchable(filenames []string, kustomize string) error {
	const advice = "a patch changes the files that -f names; name the sources, or use another format"
	if kustomize != "" {
		return object.Hinted(advice, "-o patch and -k cannot be combined: the objects of a kustomization are not in its files as they are")
	}
	for _, name := range filenames {
		if name == "-" {
			return object.Hinted(advice, "-o patch cannot change standard input, such as the output of kustomize build or helm template")
		}
		if strings.Contains(name, "://") {
			return object.Hinted(advice, "-o patch cannot change a URL: %s", name)
		}
	}
	return nil
}

func (p *patcher) learn(ref object.Ref, manifest *unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.manifests == nil {
		p.originals, p.manifests = map[object.Key]*unstructured.Unstructured{}, map[object.Key]*unstructured.Unstructured{}
	}
	p.originals[ref.Key()], p.manifests[ref.Key()] = manifest, manifest
}

func (p *patcher) see(c event.Compared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compared = append(p.compared, c)
}

// patch returns the changed files, and notes on what cannot be written into them.
func (p *patcher) patch() (files []output.PatchedFile, notes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// An edit moves the lines below it, so the last object of a file comes first.
	slices.SortStableFunc(p.compared, func(a, b event.Compared) int {
		return cmp.Or(cmp.Compare(a.Source.File, b.Source.File), cmp.Compare(b.Source.Line, a.Source.Line))
	})
	for _, c := range p.compared {
		for _, change := range c.Changes {
			if change.Kind == managedfields.Added {
				notes = append(notes, fmt.Sprintf("%s: %s: %s: not in the patch: the live object lacks it", c.Source, c.Ref, change.Path))
			}
			if !isOfOthers(change) {
				continue
			}
			if i := len(files) - 1; i < 0 || files[i].File != c.Source.File {
				text, err := os.ReadFile(c.Source.File)
				if err != nil {
					notes = append(notes, err.Error())
					break
				}
				name, err := nameInPatch(c.Source.File)
				if err != nil {
					notes = append(notes, fmt.Sprintf("%s: not in the patch: %s", c.Source.File, err))
					break
				}
				files = append(files, output.PatchedFile{File: c.Source.File, Name: name, Before: string(text), After: string(text)})
			}
			f := &files[len(files)-1]
			after, err := p.edit(c, change, f.After)
			if err != nil {
				place := c.Source
				place.Line = p.lineOf(c, change, f.Before)
				notes = append(notes, fmt.Sprintf("%s: %s: %s: not in the patch: %s", place, c.Ref, change.Path, err))
				continue
			}
			f.After = after
		}
	}
	return files, notes
}

// isOfOthers reports whether others have added or changed the value.
func isOfOthers(c managedfields.Change) bool {
	switch c.Kind {
	case managedfields.Surplus:
		return true
	case managedfields.Contested, managedfields.TakenOver, managedfields.Changed:
		return len(c.Owners) > 0 && c.From != nil
	case managedfields.Added, managedfields.Removed, managedfields.Released:
	}
	return false
}

var (
	errSecret = errors.New("a patch contains no values of Secrets")
	errNoFile = errors.New("its line in the file is unknown")
	// The API server accepts two items of one key in an update, but not in an apply.
	errRepeated     = errors.New("the live list has this item more than once: write the one that is to stay")
	errNoRepository = errors.New("it is in no Git repository, and outside of the working folder")
)

func (p *patcher) edit(c event.Compared, change managedfields.Change, text string) (string, error) {
	manifest := p.manifests[c.Ref.Key()]
	switch {
	case redact.IsSecret(c.Ref):
		return "", errSecret
	case manifest == nil || c.Source.Line == 0:
		return "", errNoFile
	case isRepeated(c.Before, change.Path):
		return "", errRepeated
	}
	object := manifest.DeepCopy()
	edit, err := editOf(object.Object, c.Before, change.Path, fieldpath.Clone(change.From))
	if err != nil {
		return "", err
	}
	if shown := fmt.Sprint(edit.Value); p.hide(shown) != shown {
		return "", errSecret
	}
	after, err := edit.Apply([]byte(text), c.Source.Line)
	if err != nil {
		return "", err
	}
	p.manifests[c.Ref.Key()] = object
	return string(after), nil
}

// isRepeated reports whether a list of the object has an item of the path more than once.
func isRepeated(object map[string]any, path fieldpath.Path) bool {
	for i, pe := range path {
		if pe.Key == nil {
			continue
		}
		v, _ := path[:i].Get(object)
		items, _ := v.([]any)
		found := 0
		for _, item := range items {
			if fieldpath.ItemsNamed(pe).Match(item, pe) == fieldpath.Exact {
				found++
			}
		}
		if found > 1 {
			return true
		}
	}
	return false
}

// lineOf returns the line of a file at which a change of an object is to be made by hand.
func (p *patcher) lineOf(c event.Compared, change managedfields.Change, text string) int {
	manifest := p.originals[c.Ref.Key()]
	if manifest == nil {
		return c.Source.Line
	}
	edit, _ := editOf(manifest.DeepCopy().Object, c.Before, change.Path, fieldpath.Clone(change.From))
	return edit.Line([]byte(text), c.Source.Line)
}

// editOf returns the edit that sets a path of an object to a value, and sets it. Maps and lists above the
// path that the object lacks are a part of the edit. A new item of a list gets its place in the live list,
// because the order of a list can matter, as that of init containers and variables does.
func editOf(object, live map[string]any, path fieldpath.Path, value any) (yamldoc.Edit, error) {
	var e yamldoc.Edit
	var at any = object
	set := func(any) {}
	for i, pe := range path {
		switch c := at.(type) {
		case map[string]any:
			if pe.FieldName == nil {
				return e, errNoPlace
			}
			name := *pe.FieldName
			below, has := c[name]
			if !has || below == nil {
				e.Key, e.Value = &name, around(path[i+1:], value)
				c[name] = e.Value
				return e, nil
			}
			e.Steps, at, set = append(e.Steps, name), below, func(v any) { c[name] = v }
		case []any:
			n := fieldpath.Find(c, pe)
			if n < 0 {
				e.Value = around(path[i:], value).([]any)[0]
				list, _ := path[:i].Get(live)
				if items, is := list.([]any); is {
					e.Before = placeIn(c, items, pe)
				}
				at := len(c)
				if e.Before > 0 {
					at = e.Before - 1
				}
				set(slices.Insert(slices.Clone(c), at, e.Value))
				return e, nil
			}
			e.Steps, at, set = append(e.Steps, n), c[n], func(v any) { c[n] = v }
		default:
			return e, errNoPlace
		}
	}
	if fieldpath.IsContainer(at) {
		return e, errNoPlace
	}
	e.Value = value
	set(value)
	return e, nil
}

// placeIn returns the number of the item in the list, from 1, that follows an item of the live list; 0 if
// there is none.
func placeIn(list, live []any, pe fieldpath.Element) int {
	at := fieldpath.Find(live, pe)
	if at < 0 {
		return 0
	}
	items := fieldpath.ItemsNamed(pe)
	for _, next := range live[at+1:] {
		if named, complete, _ := items.Element(next); complete {
			if n := fieldpath.Find(list, named); n >= 0 {
				return n + 1
			}
		}
	}
	return 0
}

var errNoPlace = errors.New("edit it by hand")

// around returns a value with the maps and lists of the path around it.
func around(path fieldpath.Path, value any) any {
	for _, p := range slices.Backward(path) {
		switch pe := p; {
		case pe.FieldName != nil:
			value = map[string]any{*pe.FieldName: value}
		default:
			if item, ok := value.(map[string]any); ok {
				maps.Copy(item, fieldpath.KeyOf(pe))
			}
			value = []any{value}
		}
	}
	return value
}

// nameInPatch returns the file's name from the top of its Git repository, as git apply reads it; outside
// of a repository, from the working folder. git apply does not follow symbolic links, so the name is that of
// the file itself. nameInPatch returns an error if a link leads out of the repository.
func nameInPatch(file string) (string, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", err
	}
	root, isRepository := repositoryOf(full)
	if !isRepository {
		if root, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	name, err := filepath.Rel(root, real)
	if err != nil {
		return "", err
	}
	switch {
	case filepath.IsLocal(name):
	case isRepository:
		return "", fmt.Errorf("it is a symbolic link to %s, which is outside of the repository", real)
	default:
		return "", errNoRepository
	}
	return filepath.ToSlash(name), nil
}

// repositoryOf returns the top of the Git repository that contains a file.
func repositoryOf(file string) (string, bool) {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}
