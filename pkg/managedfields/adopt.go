package managedfields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ClientSideApply is the manager under which kubectl's client-side apply writes.
const ClientSideApply = "kubectl-client-side-apply"

// Adoption is what is to become of an object's managed fields so that a manager
// takes over what others hold.
type Adoption struct {
	// Fields is the new value of metadata.managedFields; nil if nothing changes.
	Fields []any
	// Adopted are the owners whose paths move into the manager's Apply entry.
	Adopted []Owner
	// Left are owners that stay as they are, because their paths are written at
	// another version than the manager's.
	Left []Owner
}

// Adopt works out how a manager takes over what the managers named in from hold
// on the main resource, by updates or by applying: it all moves into the
// manager's Apply entry, so that what the manifest does not state leaves the
// object with the next apply (KEP-2155, k/k#99003; edge case 30). Without an
// entry of its own, the manager gets one at the newest version among theirs.
// The status is never taken over: the manifest would not state it.
//
// Who adopts [ClientSideApply] also adopts [BeforeFirstApply], though of that
// only what the last-applied annotation states. The rest of that entry is
// nobody's configuration: defaults, finalizers, allocated addresses.
func Adopt(live *unstructured.Unstructured, manager string, from []string) (Adoption, error) {
	entries, err := Entries(live)
	if err != nil {
		return Adoption{}, err
	}
	a := adopter{manager: manager, from: from, live: live.Object}
	target, exists := AppliedBy(entries, manager)
	if !exists {
		target = Entry{Owner: Owner{Manager: manager, Operation: Apply}, Fields: fieldpath.NewSet()}
		target.APIVersion = a.newest(entries)
	}
	var result Adoption
	kept := make([]Entry, 0, len(entries)+1)
	for _, e := range entries {
		set := a.takes(e)
		switch {
		case e.Is(manager):
			continue
		case set.Empty():
		case e.APIVersion != target.APIVersion:
			result.Left = append(result.Left, e.Owner)
		default:
			result.Adopted = append(result.Adopted, e.Owner)
			target.Fields = target.Fields.Union(set)
			if e.Time.After(target.Time) {
				target.Time = e.Time
			}
			if e.Fields = e.Fields.Difference(set); e.Fields.Empty() {
				continue
			}
		}
		kept = append(kept, e)
	}
	slices.SortFunc(result.Adopted, Owner.Compare)
	slices.SortFunc(result.Left, Owner.Compare)
	if len(result.Adopted) == 0 {
		return result, nil
	}
	result.Fields, err = encode(append([]Entry{target}, kept...))
	return result, err
}

type adopter struct {
	manager string
	from    []string
	live    map[string]any
}

// takes returns what of an entry is to be taken over.
func (a adopter) takes(e Entry) *Set {
	none := fieldpath.NewSet()
	switch {
	case e.Subresource != "" || e.Is(a.manager):
		return none
	case e.Manager == BeforeFirstApply && slices.Contains(a.from, ClientSideApply):
		return a.lastApplied(e.Fields)
	case !slices.Contains(a.from, e.Manager):
		return none
	}
	return e.Fields.RecursiveDifference(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
}

// lastApplied returns what of a set the last-applied annotation states, and the
// annotation.
func (a adopter) lastApplied(set *Set) *Set {
	out := fieldpath.NewSet()
	var last map[string]any
	if json.Unmarshal([]byte(lastApplied(a.live)), &last) != nil {
		return out
	}
	annotation := Field("metadata", "annotations", LastAppliedAnnotation)
	set.Iterate(func(fp fieldpath.Path) {
		p := Path(fp)
		if _, stated := p.Get(last); stated || p.Equal(annotation) {
			out.Insert(fp.Copy())
		}
	})
	return out
}

// newest returns the newest version at which there is something to take over.
func (a adopter) newest(entries []Entry) string {
	var newest string
	for _, e := range entries {
		if a.takes(e).Empty() {
			continue
		}
		if newest == "" || version.CompareKubeAwareVersionStrings(versionOf(e.APIVersion), versionOf(newest)) > 0 {
			newest = e.APIVersion
		}
	}
	return newest
}

// versionOf cuts the group off an apiVersion.
func versionOf(apiVersion string) string {
	return apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
}

// encode writes entries as metadata.managedFields has them.
func encode(entries []Entry) ([]any, error) {
	out := make([]any, 0, len(entries))
	for _, e := range entries {
		text, err := e.Fields.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("metadata.managedFields of manager %q: %w", e.Manager, err)
		}
		var tree map[string]any
		if err := json.Unmarshal(text, &tree); err != nil {
			return nil, fmt.Errorf("metadata.managedFields of manager %q: %w", e.Manager, err)
		}
		m := map[string]any{
			"manager": e.Manager, "operation": e.Operation, "apiVersion": e.APIVersion,
			"fieldsType": "FieldsV1", "fieldsV1": tree,
		}
		if e.Subresource != "" {
			m["subresource"] = e.Subresource
		}
		if !e.Time.IsZero() {
			m["time"] = e.Time.UTC().Format("2006-01-02T15:04:05Z07:00")
		}
		out = append(out, m)
	}
	return out, nil
}
