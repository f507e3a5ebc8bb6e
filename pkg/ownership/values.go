package ownership

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// ValueChange is a value before and after a change of owners. It is empty unless a record may keep
// both values, and they differ.
type ValueChange struct{ From, To string }

// ValuesOf returns the values at a path of two versions of an object, if a record may keep them:
// numbers, images and booleans of a few paths of a few built-in kinds, none of which holds secrets.
func ValuesOf(kind schema.GroupKind, path fieldpath.Path, old, now *Lookup) ValueChange {
	text := keeps(kind, path)
	if text == nil {
		return ValueChange{}
	}
	was, hadValue := old.Get(path)
	is, hasValue := now.Get(path)
	return changeOf(text(was, hadValue), text(is, hasValue))
}

// ScaleValues returns the number of replicas in two versions of a Scale, which leaves out a zero.
func ScaleValues(old, now map[string]any) ValueChange {
	replicas := func(scale map[string]any) string {
		value, there := fieldpath.Field("spec", "replicas").Get(scale)
		if !there {
			return "0"
		}
		return number(value, there)
	}
	return changeOf(replicas(old), replicas(now))
}

func changeOf(from, to string) ValueChange {
	if from == "" || to == "" || from == to {
		return ValueChange{}
	}
	return ValueChange{from, to}
}

// keeps returns the text form of the values at a path, empty for a value of another sort; nil if no
// record keeps them.
func keeps(kind schema.GroupKind, path fieldpath.Path) func(value any, there bool) string {
	pod := ".spec.template.spec"
	switch kind.String() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "ReplicationController", "Job.batch":
	case "CronJob.batch":
		pod = ".spec.jobTemplate.spec.template.spec"
	case "Pod":
		pod = ".spec"
	case "HorizontalPodAutoscaler.autoscaling":
	default:
		return nil
	}
	switch namesOf(path) {
	case ".spec.replicas", ".spec.minReplicas", ".spec.maxReplicas":
		return number
	case ".spec.paused", ".spec.suspend":
		return boolean
	case pod + ".containers[].image", pod + ".initContainers[].image":
		return image
	default:
		return nil
	}
}

// namesOf returns a path without the keys of its items.
func namesOf(path fieldpath.Path) string {
	var b strings.Builder
	for _, pe := range path {
		if pe.FieldName != nil {
			b.WriteString("." + *pe.FieldName)
		} else {
			b.WriteString("[]")
		}
	}
	return b.String()
}

func number(value any, _ bool) string {
	n, ok := value.(int64)
	if !ok {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// boolean is of fields that are false when they are absent.
func boolean(value any, there bool) string {
	is, ok := value.(bool)
	if !ok && there {
		return ""
	}
	return strconv.FormatBool(is)
}

// image is of references without anything else: the API server accepts any text.
func image(value any, _ bool) string {
	text, _ := value.(string)
	if len(text) > maxValue || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*(@[a-z0-9+._-]+:[0-9a-f]{32,})?$`).MatchString(text) {
		return ""
	}
	return text
}
