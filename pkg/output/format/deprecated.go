package format

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// DeprecatedPlaces returns a line for each place that uses a deprecated version or field.
func DeprecatedPlaces(u event.DeprecatedUse, now time.Time) []string {
	var lines []string
	for _, w := range u.Writers {
		lines = append(lines, Owner(w, now)+" still writes it")
	}
	for _, source := range u.Sources {
		lines = append(lines, text.Printable(source.String()))
	}
	for _, r := range u.Releases {
		lines = append(lines, text.Printable("Helm release "+r.Namespace+"/"+r.Name)+", revision "+strconv.Itoa(r.Revision))
	}
	return lines
}

// Deprecations summarizes in one line what blocks the upgrade. leftOut counts the errors in the
// input.
func Deprecations(d event.Deprecations, leftOut int) string {
	writers, files, releases := map[string]bool{}, map[string]bool{}, map[string]bool{}
	stay := 0
	for _, u := range d.Uses {
		if !u.Goes {
			stay++
			continue
		}
		for _, w := range u.Writers {
			writers[w.Manager] = true
		}
		for _, s := range u.Sources {
			files[s.File] = true
		}
		for _, r := range u.Releases {
			releases[r.Namespace+"/"+r.Name] = true
		}
	}
	var inTheWay []string
	for _, one := range []struct {
		n    int
		noun string
	}{{len(writers), "writer"}, {len(files), "file"}, {len(releases), "release"}} {
		if one.n > 0 {
			inTheWay = append(inTheWay, text.Count(one.n, one.noun))
		}
	}
	message := "nothing uses an API that " + d.Release + " removes"
	if len(inTheWay) > 0 {
		message = strings.Join(inTheWay, ", ") + " blocking " + d.Release
	}
	if d.Namespace != "" {
		message = "in namespace " + text.Printable(d.Namespace) + ": " + message
	}
	if stay > 0 {
		message += fmt.Sprintf("; %d deprecated but not removed", stay)
	}
	if d.Left > 0 {
		noun := "entries that their managers no longer write"
		if d.Left == 1 {
			noun = "entry that its manager no longer writes"
		}
		message += fmt.Sprintf("; %d old %s", d.Left, noun)
	}
	if unread := len(d.Unread) + leftOut; unread > 0 {
		message += fmt.Sprintf("; %d not read", unread)
	}
	return message
}

// DefinitionName names a CRD.
func DefinitionName(name string) string {
	ref := object.Ref{Name: name}
	ref.GVK.Group, ref.GVK.Kind = "apiextensions.k8s.io", "CustomResourceDefinition"
	return Name(ref)
}
