package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Converted are the rules for what Applications and ApplicationSets ignore.
type Converted struct {
	rules []*yaml.Node
	// Left are the differences for which there is no rule, and Notes where a rule means
	// something else than was written; each with its line.
	Left, Notes []string
}

// rule is one of yield. Path is a text or a list of them.
type rule struct {
	Kind      string `yaml:"kind,omitempty"`
	Namespace string `yaml:"namespace,omitempty"`
	Name      string `yaml:"name,omitempty"`
	Manager   string `yaml:"manager,omitempty"`
	Path      any    `yaml:"path,omitempty"`
}

// ignored is an item of spec.ignoreDifferences.
type ignored struct {
	Group        string      `yaml:"group"`
	Kind         string      `yaml:"kind"`
	Name         string      `yaml:"name"`
	Namespace    string      `yaml:"namespace"`
	JSONPointers []yaml.Node `yaml:"jsonPointers"`
	JQ           []yaml.Node `yaml:"jqPathExpressions"`
	Managers     []string    `yaml:"managedFieldsManagers"`
}

// application is what is read of an Application and of an ApplicationSet.
type application struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Ignored  []yaml.Node `yaml:"ignoreDifferences"`
		Template struct {
			Spec struct {
				Ignored []yaml.Node `yaml:"ignoreDifferences"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
	Items []yaml.Node `yaml:"items"`
}

// Convert reads the documents of a file; those of other kinds are passed over.
func Convert(file string, data []byte) (*Converted, error) {
	c := &Converted{}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for found := false; ; {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF) && !found:
			return nil, fmt.Errorf("%s: no Application and no ApplicationSet in it", file)
		case errors.Is(err, io.EOF):
			return c, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		read, err := c.read(file, &document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = found || read
	}
}

// read adds the rules of a document, and reports whether it is one that may have some.
func (c *Converted) read(file string, document *yaml.Node) (bool, error) {
	var kind struct {
		Kind string `yaml:"kind"`
	}
	if document.Decode(&kind) != nil {
		return false, nil // No object.
	}
	var app application
	switch kind.Kind {
	case "Application", "ApplicationSet", "List", "ApplicationList", "ApplicationSetList":
		if err := document.Decode(&app); err != nil {
			return false, err
		}
	default:
		return false, nil
	}
	found := app.Kind == "Application" || app.Kind == "ApplicationSet"
	for i := range app.Items {
		in, err := c.read(file, &app.Items[i])
		if err != nil {
			return false, err
		}
		found = found || in
	}
	all := app.Spec.Ignored
	if app.Kind == "ApplicationSet" {
		all = app.Spec.Template.Spec.Ignored
	}
	for i := range all {
		if err := c.add(file, &all[i]); err != nil {
			return false, err
		}
	}
	return found, nil
}

// add turns an item into rules: one for its paths, and one for each manager.
func (c *Converted) add(file string, item *yaml.Node) error {
	var of ignored
	if err := item.Decode(&of); err != nil {
		return err
	}
	meant := rule{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
	if of.Group != "" && of.Group != "*" && of.Kind != "*" {
		meant.Kind += "." + of.Group
	}
	if of.Group != "" && of.Group != "*" && of.Kind == "*" {
		c.Left = append(c.Left, fmt.Sprintf("%s:%d: every kind of the group %s: name the kinds", file, item.Line, of.Group))
		return nil
	}
	meant.Kind = cmp.Or(meant.Kind, "*")
	var paths []string
	convert := func(nodes []yaml.Node, how func(string) (string, string, error)) {
		for i := range nodes {
			path, note, err := how(nodes[i].Value)
			switch at := fmt.Sprintf("%s:%d: %s", file, nodes[i].Line, nodes[i].Value); {
			case err != nil:
				c.Left = append(c.Left, at+": "+err.Error())
				continue
			case note != "":
				c.Notes = append(c.Notes, at+": "+note)
			}
			if !slices.Contains(paths, path) { // Two positions in a list are one rule.
				paths = append(paths, path)
			}
		}
	}
	convert(of.JSONPointers, pointer)
	convert(of.JQ, jq)
	if len(paths) == 1 {
		meant.Path = paths[0]
		c.rule(file, item, meant)
	} else if len(paths) > 1 {
		meant.Path = paths
		c.rule(file, item, meant)
	}
	for _, manager := range of.Managers {
		meant.Path, meant.Manager = nil, manager
		c.rule(file, item, meant)
	}
	return nil
}

func (c *Converted) rule(file string, item *yaml.Node, r rule) {
	var node yaml.Node
	if node.Encode(r) != nil {
		return // Texts can be encoded.
	}
	node.Style = yaml.FlowStyle
	node.HeadComment = fmt.Sprintf("# %s:%d", file, item.Line)
	c.rules = append(c.rules, &node)
}

// Rules reports how many rules there are.
func (c *Converted) Rules() int { return len(c.rules) }

// YAML is the file.
func (c *Converted) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(map[string][]*yaml.Node{"yield": c.rules})
	return out.Bytes(), errors.Join(err, encoder.Close())
}
