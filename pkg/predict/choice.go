package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// YieldAnnotation on an object names paths, separated by commas, that are left to their
// owners, as --yield does.
const YieldAnnotation = "k8sconnect.io/yield"

// Choice is the user's decision about a contested path, for one object or for all of them.
type Choice struct {
	// Kind is a kind, a resource or its short name, with its group or without
	// ("deployment", "deployments.apps", "deploy"), in lower case; empty means any
	// object.
	Kind string
	// Namespace of the object; empty means any.
	Namespace string
	Name      string
	// Path is meant with everything below it. An empty path means every path.
	Path fieldpath.Path
}

// ParseChoices reads [KIND/[NAMESPACE/]NAME:]PATH[,PATH…]. The word "all" for a path means
// every path. A path belongs to the object that was named last; commas inside brackets and
// quotes belong to the path.
func ParseChoices(text string) ([]Choice, error) {
	parts := splitList(text)
	if len(parts) == 0 {
		parts = []string{text}
	}
	choices := make([]Choice, 0, len(parts))
	var last Choice
	for _, part := range parts {
		c, err := parseChoice(part)
		if err != nil {
			return nil, err
		}
		if c.Kind == "" {
			c.Kind, c.Namespace, c.Name = last.Kind, last.Namespace, last.Name
		}
		last = c
		choices = append(choices, c)
	}
	return choices, nil
}

func parseChoice(text string) (Choice, error) {
	var c Choice
	object, path := splitChoice(text)
	if object != "" {
		parts := strings.Split(object, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return Choice{}, fmt.Errorf("%q: write KIND/NAME or KIND/NAMESPACE/NAME before the path, such as deployment.apps/web", text)
		}
		c.Kind, c.Name = strings.ToLower(parts[0]), parts[len(parts)-1]
		if len(parts) == 3 {
			c.Namespace = parts[1]
		}
	}
	if path == "all" {
		return c, nil
	}
	p, err := fieldpath.ParsePath(path)
	if err != nil {
		return Choice{}, fmt.Errorf("%q: %w", text, err)
	}
	c.Path = p
	return c, nil
}

// splitChoice cuts what names an object off a path. Names may contain colons
// (system:node-reader), so the path begins at its leading dot or bracket; without one, it
// is what follows the last colon.
func splitChoice(text string) (object, path string) {
	slash := strings.IndexByte(text, '/')
	if slash < 0 || strings.IndexByte(".[", text[0]) >= 0 {
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

// Names reports whether the choice applies to the object.
func (c Choice) Names(ref object.Ref, as object.Kind) bool {
	if c.Kind == "" {
		return true
	}
	if c.Name != ref.Name || c.Namespace != "" && c.Namespace != ref.Namespace {
		return false
	}
	kind, group, grouped := strings.Cut(c.Kind, ".")
	if grouped && group != ref.GVK.Group {
		return false
	}
	return kind == strings.ToLower(ref.GVK.Kind) || kind == as.Resource || slices.Contains(as.ShortNames, kind)
}

// ParseObject reads KIND[/[NAMESPACE/]NAME]. Without a name, all objects of the kind are
// meant: see [Choice.Includes].
func ParseObject(text string) (Choice, error) {
	parts := strings.Split(text, "/")
	if len(parts) > 3 || slices.Contains(parts, "") || strings.ContainsAny(text, " :=,") {
		return Choice{}, fmt.Errorf("%q: not KIND[/NAME], such as job/migrate", text)
	}
	c := Choice{Kind: strings.ToLower(parts[0])}
	if len(parts) > 1 {
		c.Name = parts[len(parts)-1]
	}
	if len(parts) == 3 {
		c.Namespace = parts[1]
	}
	return c, nil
}

// Includes is [Choice.Names], except that a choice without a name applies to all objects
// of its kind.
func (c Choice) Includes(ref object.Ref, as object.Kind) bool {
	if c.Name == "" {
		c.Name = ref.Name
	}
	return c.Names(ref, as)
}

// Object is the part of the choice that names an object; empty for any.
func (c Choice) Object() string {
	switch {
	case c.Kind == "":
		return ""
	case c.Name == "":
		return c.Kind
	case c.Namespace == "":
		return c.Kind + "/" + c.Name
	default:
		return c.Kind + "/" + c.Namespace + "/" + c.Name
	}
}

// covers reports whether the choice applies to the path.
func (c Choice) covers(path fieldpath.Path) bool {
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
	return c.Object() + ":" + path
}

// yieldedBy returns the paths that the object's own annotation yields.
func yieldedBy(annotation string) ([]fieldpath.Path, error) {
	var paths []fieldpath.Path
	for _, text := range splitList(annotation) {
		path, err := fieldpath.ParsePath(text)
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
