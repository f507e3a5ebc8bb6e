package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Group is the API group of the plugin's documents.
const Group = "cli.k8sconnect.io/"

// Validator validates documents against the schemas in a folder. It also refuses fields that a
// schema lacks, which the published schemas allow because later releases add some.
type Validator struct {
	kinds map[string]*validate.SchemaValidator
	// Seen counts the documents of each kind.
	Seen map[string]int
}

// Stream is the name of the schema for the lines of -o stream.
const Stream = "StreamLine"

// Load reads the schemas in a folder. Their names are those of the kinds.
func Load(folder string) (*Validator, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no schemas in %s", folder))
	}
	v := &Validator{kinds: map[string]*validate.SchemaValidator{}, Seen: map[string]int{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var root map[string]any
		if err := json.Unmarshal(text, &root); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		definitions, _ := root["definitions"].(map[string]any)
		delete(root, "definitions")
		flat, err := json.Marshal(strict(root, definitions, 0))
		if err != nil {
			return nil, err
		}
		var schema spec.Schema
		if err := json.Unmarshal(flat, &schema); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		v.kinds[strings.TrimSuffix(filepath.Base(file), ".json")] = validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
	}
	return v, nil
}

// strict replaces references by the definitions, constants by enumerations, and forbids unknown
// fields. depth counts the references.
func strict(v any, definitions map[string]any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			if depth > 8 {
				return map[string]any{} // a type that contains itself
			}
			return strict(definitions[strings.TrimPrefix(ref, "#/definitions/")], definitions, depth+1)
		}
		out := map[string]any{}
		for key, below := range v {
			out[key] = strict(below, definitions, depth)
		}
		if one, ok := v["const"]; ok {
			delete(out, "const")
			out["enum"] = []any{one}
		}
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = strict(v[i], definitions, depth)
		}
		return out
	}
	return v
}

// Output validates the output of a run, if it consists of the plugin's documents.
func (v *Validator) Output(stdout string) error {
	if !strings.HasPrefix(stdout, "{") {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	for {
		var document map[string]any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) || err != nil {
			return nil // KYAML, or an object of the cluster
		}
		kind, _ := document["kind"].(string)
		version, _ := document["apiVersion"].(string)
		if _, isLine := document["type"].(string); isLine && document["time"] != nil && version == "" {
			kind = Stream
		} else if !strings.HasPrefix(version, Group) {
			return nil
		}
		if err := v.Validate(kind, document); err != nil {
			return err
		}
	}
}

// Validate validates a document against the schema of a kind.
func (v *Validator) Validate(kind string, document any) error {
	schema := v.kinds[kind]
	if schema == nil {
		return fmt.Errorf("no schema for %s: the schemas are %s", kind, strings.Join(slices.Sorted(maps.Keys(v.kinds)), ", "))
	}
	v.Seen[kind]++
	var faults []error
	for _, fault := range schema.Validate(document).Errors {
		faults = append(faults, fmt.Errorf("%s: %w", kind, fault))
	}
	return errors.Join(faults...)
}
