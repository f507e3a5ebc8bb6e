package prompt

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Places names where a rule for an object can be kept for later runs.
type Places struct {
	// File is the configuration file, and Manifest the place of the object's manifest. Each is empty
	// if nothing can be written there.
	File, Manifest string
	// IsNew means that File does not exist yet.
	IsNew bool
	// Reason says why a rule can be kept nowhere, and how to change that.
	Reason string
}

type keep string

const (
	nowhere    keep = ""
	inFile     keep = "file"
	inManifest keep = "manifest"
)

func (p Places) usual() keep {
	switch {
	case p.File != "":
		return inFile
	case p.Manifest != "":
		return inManifest
	}
	return nowhere
}

// Rule leaves paths of an object to their owners in later runs.
type Rule struct {
	Ref   object.Ref
	Paths []string
	// InManifest means that the rule becomes an annotation of the object.
	InManifest bool
}

// Keep writes the rules that the user wants to keep; none if the user has quit. write reports whether
// it has written a rule.
func (d *Dialogue) Keep(write func(Rule) bool) {
	if d.quit {
		return
	}
	for i := range d.answers {
		first := d.answers[i]
		if first.keep == nowhere || first.kept {
			continue
		}
		rule := Rule{Ref: first.ref, InManifest: first.keep == inManifest}
		var of []*answer
		for j := range d.answers {
			if a := &d.answers[j]; a.ref == first.ref && a.keep == first.keep {
				rule.Paths, of = append(rule.Paths, a.path), append(of, a)
			}
		}
		kept := write(rule)
		for _, a := range of {
			if a.kept = kept; !kept {
				a.keep = nowhere
			}
		}
	}
}

// alwaysHelp explains how to keep a rule, or why that is impossible.
func (q question) alwaysHelp() []string {
	p := q.places
	if p.usual() == nowhere {
		if p.Reason == "" {
			return nil
		}
		return []string{"  always        not possible: " + text.Printable(p.Reason)}
	}
	const words = "  al, always    leave it now and later: adds "
	var lines []string
	if p.File != "" {
		line := words + "a rule to " + text.Printable(p.File)
		if p.IsNew {
			line += " (new)"
		}
		lines = append(lines, line)
	}
	switch {
	case p.Manifest == "":
	case p.File == "":
		lines = append(lines, words+"an annotation to "+text.Printable(p.Manifest))
	default:
		lines = append(lines, "  am            the same, with an annotation in "+text.Printable(p.Manifest))
	}
	return lines
}
