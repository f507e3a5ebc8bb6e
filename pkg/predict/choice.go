package predict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// YieldAnnotation lists the paths that an object leaves to their owners, separated by commas. It
// works like the flag --yield.
const YieldAnnotation = "k8sconnect.io/yield"

// RecreateAnnotation works like the flag --recreate: the object may be deleted and recreated if the
// manifest changes an immutable field. Its only valid value is "immutable".
const RecreateAnnotation = "k8sconnect.io/recreate"

// Choice is the user's decision about contested paths. An empty field matches everything. Kind,
// Namespace, Name and Manager may be globs.
type Choice struct {
	// Kind is a kind, resource or short name in lower case, with or without its group:
	// "deployment", "deployments.apps", "deploy".
	Kind            string
	Namespace, Name string
	Manager         string
	// Path matches a field and everything below it.
	Path fieldpath.Pattern
	// From is the file and line of the choice; empty for a flag.
	From string
	// Of is the conflict that the user resolved with the choice. If it is set, the choice applies
	// only while the path has the same live value and the same owners.
	Of *managedfields.Conflict
}

// ParseChoices parses the value of a flag, such as deploy/web:manager=flux:.spec.replicas. It may
// contain several choices separated by commas. The path "all" means every path. A choice that names
// no object applies to the object of the preceding choice.
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

// parseChoice splits the parts from the left, because a path may contain the separators of the others.
func parseChoice(text string) (Choice, error) {
	var c Choice
	object, rest := splitChoice(text)
	if object != "" && !c.nameObject(object) {
		return Choice{}, fmt.Errorf("%q: write KIND/NAME or KIND/NAMESPACE/NAME before the path (example: deployment.apps/web)", text)
	}
	manager, path, named := splitManager(rest)
	if c.Manager = manager; named && manager == "" {
		return Choice{}, fmt.Errorf("%q: the name after manager= is missing", text)
	}
	if err := c.checkGlobs(); err != nil {
		return Choice{}, fmt.Errorf("%q: %w", text, err)
	}
	if path == "all" || named && path == "" {
		return c, nil
	}
	p, err := fieldpath.ParsePattern(path)
	if err != nil {
		return Choice{}, fmt.Errorf("%q: %w", text, err)
	}
	c.Path = p
	return c, nil
}

func (c Choice) checkGlobs() error {
	for _, glob := range []string{c.Kind, c.Namespace, c.Name, c.Manager} {
		if !text.IsGlob(glob) {
			return fmt.Errorf("%s is not a pattern: it has an unclosed or empty bracket, or ends with a backslash", glob)
		}
	}
	return nil
}

const managerIs = "manager="

var aKind = regexp.MustCompile(`^[A-Za-z*][A-Za-z0-9.*-]*$`)

// splitChoice splits the object from the path. The name of an object may contain colons, such as
// system:node-reader. The path therefore begins after the first colon that precedes a dot, a
// bracket or "manager="; if there is no such colon, it begins after the last colon.
func splitChoice(text string) (object, path string) {
	if text == "" || strings.HasPrefix(text, managerIs) || strings.IndexByte(".[", text[0]) >= 0 {
		return "", text
	}
	slash := strings.IndexByte(text, '/')
	if quote := strings.IndexAny(text, `["'`); quote >= 0 && quote < slash {
		slash = -1
	}
	first := -1
	for _, start := range []string{":.", ":[", ":" + managerIs} {
		if i := strings.Index(text, start); i > 0 && (first < 0 || i < first) && (i > slash || slash < 0) {
			first = i
		}
	}
	if first < 0 && strings.HasSuffix(text, ":all") {
		first = len(text) - len(":all")
	}
	switch last := strings.LastIndexByte(text, ':'); {
	case first > 0 && (slash >= 0 && first > slash || aKind.MatchString(text[:first])):
		return text[:first], text[first+1:]
	case slash < 0:
		return "", text
	case last > slash:
		return text[:last], text[last+1:]
	default:
		return text, ""
	}
}

func splitManager(text string) (manager, path string, named bool) {
	rest, named := strings.CutPrefix(text, managerIs)
	if !named {
		return "", text, false
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		manager, _ = strconv.Unquote(quoted)
		return manager, strings.TrimPrefix(rest[len(quoted):], ":"), true
	}
	for _, start := range []string{":.", ":["} {
		if i := strings.Index(rest, start); i >= 0 {
			return rest[:i], rest[i+1:], true
		}
	}
	if manager, found := strings.CutSuffix(rest, ":all"); found {
		return manager, "all", true
	}
	return rest, "", true
}

// Names reports whether the choice applies to the object.
func (c Choice) Names(ref object.Ref, as object.Kind) bool {
	if c.Name != "" && !text.Glob(c.Name, ref.Name) || c.Namespace != "" && !text.Glob(c.Namespace, ref.Namespace) {
		return false
	}
	if c.Kind == "" || c.Kind == "*" {
		return true
	}
	kind, group, grouped := strings.Cut(c.Kind, ".")
	if grouped && !text.Glob(group, ref.GVK.Group) {
		return false
	}
	is := func(name string) bool { return text.Glob(kind, name) }
	return is(strings.ToLower(ref.GVK.Kind)) || as.Resource != "" && is(as.Resource) || slices.ContainsFunc(as.ShortNames, is)
}

// ParseObject parses KIND[/[NAMESPACE/]NAME]. A choice without a name matches all objects of the
// kind.
func ParseObject(text string) (Choice, error) {
	var c Choice
	if strings.ContainsAny(text, " :=,") || text == "all" || !c.nameObject(text) {
		return Choice{}, fmt.Errorf("%q: not KIND[/NAME] (example: job/migrate)", text)
	}
	return c, nil
}

func (c *Choice) nameObject(text string) bool {
	parts := strings.Split(text, "/")
	if len(parts) > 3 || slices.Contains(parts, "") {
		return false
	}
	c.Kind = strings.ToLower(parts[0])
	if len(parts) > 1 {
		c.Name = parts[len(parts)-1]
	}
	if len(parts) == 3 {
		c.Namespace = parts[1]
	}
	return true
}

// Object returns the part of the choice that names objects; empty if the choice matches any object.
func (c Choice) Object() string {
	switch {
	case c.Kind == "" && c.Name == "" && c.Namespace == "":
		return ""
	case c.Name == "" && c.Namespace == "":
		return c.Kind
	case c.Namespace == "":
		return cmp.Or(c.Kind, "*") + "/" + c.Name
	default:
		return cmp.Or(c.Kind, "*") + "/" + c.Namespace + "/" + cmp.Or(c.Name, "*")
	}
}

// Means reports whether the choice applies to fields of this owner.
func (c Choice) Means(owner managedfields.Owner) bool {
	return c.meansAll([]managedfields.Owner{owner})
}

func (c Choice) meansAll(owners []managedfields.Owner) bool {
	if c.Manager == "" {
		return true
	}
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(o managedfields.Owner) bool { return !text.Glob(c.Manager, o.Manager) })
}

// String returns the choice in flag syntax.
func (c Choice) String() string {
	var parts []string
	if object := c.Object(); object != "" {
		parts = append(parts, object)
	}
	if c.Manager != "" {
		manager := c.Manager
		if strings.ContainsAny(manager, ":,\"' []") {
			manager = strconv.Quote(manager)
		}
		parts = append(parts, managerIs+manager)
	}
	switch {
	case len(c.Path) > 0:
		parts = append(parts, c.Path.String())
	case c.Manager == "":
		parts = append(parts, "all")
	}
	return strings.Join(parts, ":")
}

func yieldedBy(annotation string) ([]Choice, error) {
	var all []Choice
	for _, text := range splitList(annotation) {
		c := Choice{}
		manager, path, named := splitManager(text)
		c.Manager = manager
		err := c.checkGlobs()
		if named && manager == "" {
			err = fmt.Errorf("%q: the name after manager= is missing", text)
		}
		if err == nil && (!named || path != "" && path != "all") {
			c.Path, err = fieldpath.ParsePattern(path)
		}
		if err != nil {
			return nil, fmt.Errorf("annotation %s: %w", YieldAnnotation, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// splitList splits a text at its commas, except those inside the keys of list items.
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
