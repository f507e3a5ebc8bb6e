package output

import "strings"

// Formats of the results.
const (
	Table  = "table"
	JSON   = "json"
	YAML   = "yaml"
	KYAML  = "kyaml"
	Name   = "name"
	Stream = "stream"
	// Wide is a table with more columns, of sets.
	Wide  = "wide"
	JUnit = "junit"
	// HTML is one file for a browser, of a survey.
	HTML = "html"
)

// Formats of the objects themselves, not of a report about them. The last is
// followed by = and a template as kubectl takes it.
const (
	Objects      = "objects"
	ObjectsJSON  = "objects=json"
	ObjectsKYAML = "objects=kyaml"
	JSONPath     = "jsonpath"
)

// Manifests is the format that prints the manifests themselves, in order, and applies
// nothing. Package listing writes them; a printer of that format prints no results.
const Manifests = "manifests"

// IsOfObjects reports whether a format prints the objects themselves.
func IsOfObjects(format string) bool {
	return format == Objects || format == ObjectsJSON || format == ObjectsKYAML ||
		strings.HasPrefix(format, JSONPath+"=")
}

// WantsObjects reports whether a format of wait prints the objects themselves.
func WantsObjects(format string) bool {
	return format == YAML || format == KYAML || IsOfObjects(format)
}
