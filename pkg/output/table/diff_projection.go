package table

import (
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// memberLabel marks the members of a set (ApplySet specification). Its value is a hash, which tells
// readers nothing.
const memberLabel = "applyset.kubernetes.io/part-of"

// hideSet removes the member label, unless the table is verbose, and reports whether the object
// would join a set.
func (t *diffTable) hideSet(c *event.Compared) (joins bool) {
	path := fieldpath.Field("metadata", "labels", memberLabel)
	from, _ := path.Get(c.Before)
	to, member := path.Get(c.After)
	if t.Verbose {
		return false
	}
	c.Before, c.After = withoutMember(c.Before), withoutMember(c.After)
	return member && c.Before != nil && from != to
}

func withoutMember(side map[string]any) map[string]any {
	meta, _ := side["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	if _, marked := labels[memberLabel]; !marked {
		return side
	}
	side, meta, labels = maps.Clone(side), maps.Clone(meta), maps.Clone(labels)
	delete(labels, memberLabel)
	meta["labels"], side["metadata"] = labels, meta
	if len(labels) == 0 {
		delete(meta, "labels")
	}
	if len(meta) == 0 {
		delete(side, "metadata")
	}
	return side
}

func projections(c event.Compared) (before, after string, err error) {
	if before, err = projected(foldLastApplied(c.Before, c.After)); err != nil {
		return "", "", fmt.Errorf("show the live %s: %w", c.Ref, err)
	}
	if after, err = projected(c.After); err != nil {
		return "", "", fmt.Errorf("show the applied %s: %w", c.Ref, err)
	}
	return before, after, nil
}

func projected(projection map[string]any) (string, error) {
	if len(projection) == 0 {
		return "", nil
	}
	out, err := yaml.Marshal(projection)
	return string(out), err
}
