package predict

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// YieldAnnotation on an object names paths, separated by commas, that are left
// to whoever owns them, as --yield does.
const YieldAnnotation = "k8sconnect.io/yield"

// Choice is what the user said of a contested path, for one object or for all
// of them.
type Choice struct {
	// Kind is a kind or resource, with its group or without ("deployment",
	// "deployments.apps"), in lower case; empty means any object.
	Kind, Name string
	// Path that is meant, and all below it. An empty path means every path.
	Path managedfields.Path
}

// ParseChoice reads [KIND/NAME:]PATH. The word "all" for a path means every
// path.
func ParseChoice(text string) (Choice, error) {
	var c Choice
	object, path := splitChoice(text)
	if object != "" {
		kind, name, ok := strings.Cut(object, "/")
		if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			return Choice{}, fmt.Errorf("%q: before the path comes KIND/NAME, such as deployment.apps/web", text)
		}
		c.Kind, c.Name = strings.ToLower(kind), name
	}
	if path == "all" {
		return c, nil
	}
	p, err := managedfields.ParsePath(path)
	if err != nil {
		return Choice{}, fmt.Errorf("%q: %w", text, err)
	}
	c.Path = p
	return c, nil
}

// splitChoice cuts KIND/NAME off a path. Names may hold colons
// (system:node-reader), so the path's leading dot or bracket tells where it
// begins; where it has neither, it is what follows the last colon.
func splitChoice(text string) (object, path string) {
	slash := strings.IndexByte(text, '/')
	if slash < 0 {
		return "", text
	}
	if quote := strings.IndexAny(text, `["'`); quote >= 0 && quote < slash {
		return "", text
	}
	for _, start := range []string{":.", ":["} {
		if i := strings.Index(text, start); i > slash {
			return text[:i], text[i+1:]
		}
	}
	if i := strings.LastIndexByte(text, ':'); i > slash {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// Names tells whether the choice speaks of the object.
func (c Choice) Names(ref object.Ref, resource string) bool {
	if c.Kind == "" {
		return true
	}
	if c.Name != ref.Name {
		return false
	}
	kind, group, grouped := strings.Cut(c.Kind, ".")
	if grouped && group != ref.GVK.Group {
		return false
	}
	return kind == strings.ToLower(ref.GVK.Kind) || kind == resource
}

// covers tells whether the choice speaks of the path.
func (c Choice) covers(path managedfields.Path) bool {
	return len(c.Path) == 0 || path.HasPrefix(c.Path)
}

// String is the choice as it is typed.
func (c Choice) String() string {
	path := c.Path.String()
	if len(c.Path) == 0 {
		path = "all"
	}
	if c.Kind == "" {
		return path
	}
	return c.Kind + "/" + c.Name + ":" + path
}

// yieldedBy returns the paths that the object's own annotation yields.
func yieldedBy(annotation string) ([]managedfields.Path, error) {
	var paths []managedfields.Path
	for _, text := range splitList(annotation) {
		path, err := managedfields.ParsePath(text)
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", YieldAnnotation, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// splitList splits at commas outside of brackets and quotes, where keys of list
// items hold commas of their own.
func splitList(text string) []string {
	var parts []string
	start, depth := 0, 0
	var quote rune
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	escaped := false
	for i, r := range text {
		switch {
		case escaped:
			escaped = false
		case quote != 0 && r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			add(text[start:i])
			start = i + 1
		}
	}
	add(text[start:])
	return parts
}
