package review

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Document is a plan in the form that diff prints.
type Document struct {
	Digest   string
	Outcomes map[object.Key]Outcome
}

// Read reads a DiffResult in JSON or YAML.
func Read(text []byte) (Document, error) {
	var in struct {
		Kind    string `json:"kind"`
		Digest  string `json:"digest"`
		Objects []struct {
			APIVersion string       `json:"apiVersion"`
			Kind       string       `json:"kind"`
			Namespace  string       `json:"namespace"`
			Name       string       `json:"name"`
			Action     event.Action `json:"action"`
			Digest     string       `json:"digest"`
			Changes    []struct {
				Path   string                   `json:"path"`
				Change managedfields.ChangeKind `json:"change"`
				From   any                      `json:"from"`
				To     any                      `json:"to"`
				Owners []managedfields.Owner    `json:"owners"`
			} `json:"changes"`
		} `json:"objects"`
	}
	err := yaml.Unmarshal(text, &in, func(d *json.Decoder) *json.Decoder {
		d.UseNumber() // A float64 would change large integers.
		return d
	})
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		err = errors.New("it is not the output of diff -o json")
	}
	switch {
	case err != nil:
		return Document{}, err
	case in.Kind == "":
		return Document{}, errors.New("it is not the output of diff -o json")
	case in.Kind != "DiffResult":
		return Document{}, fmt.Errorf("it is a %q, not the output of diff -o json", in.Kind)
	case !IsDigest(in.Digest):
		return Document{}, errors.New("it has no digest: the result for some objects was unknown")
	}
	out := Document{Digest: in.Digest, Outcomes: map[object.Key]Outcome{}}
	for _, o := range in.Objects {
		if o.Digest == "" {
			continue
		}
		ref := object.Ref{GVK: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), Namespace: o.Namespace, Name: o.Name}
		outcome := Outcome{Ref: ref, Action: o.Action.Compared(), digest: o.Digest}
		for _, c := range o.Changes {
			outcome.Changes = append(outcome.Changes, Change{Path: c.Path, Kind: c.Change, From: c.From, To: c.To, Owners: namesOf(c.Owners)})
		}
		out.Outcomes[ref.Key()] = outcome
	}
	return out, nil
}
