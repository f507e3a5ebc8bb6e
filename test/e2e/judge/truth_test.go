package judge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The kinds of changes of a path.
const (
	taken    = "taken"
	released = "released"
	// moved: other owners and the same value. Nothing was taken.
	moved = "moved"
	// own: a manager changed its own value by another operation. A record may or may not report
	// that as taken.
	own = "own"
	// lost is allowed in a record if no replica saw the values, or there are none.
	lost = "lost"
)

// change is a path whose owners differ from the previous version.
type change struct {
	path, kind    string
	before, after []string // owners, sorted
	forced        bool
	stamp         string
}

// state is an object at one revision: owners and values by path.
type state struct {
	owners map[string][]string
	values map[string]string
	stamp  string
}

// life is an object's history.
type life struct {
	name      string
	uid       string
	revisions []string
	// changes by revision and path, only of paths where an owner lost something that others own.
	changes map[string]map[string]change
	// first contains what a write would have taken from older versions, latest first: the API
	// server tries it on a cached version, calls admission, and then notices a newer version, and
	// calls admission again.
	first  map[string][]map[string]change
	stamps map[string]string // revisions by their writer's stamp
}

func lifeOf(t *testing.T, name string, versions []version) life {
	t.Helper()
	l := life{name: name, changes: map[string]map[string]change{}, first: map[string][]map[string]change{}, stamps: map[string]string{}}
	var past []state // latest first
	for i, v := range versions {
		metadata, _ := v.object["metadata"].(map[string]any)
		l.uid, _ = metadata["uid"].(string)
		l.revisions = append(l.revisions, v.revision)
		is := stateOf(t, v.object)
		if i > 0 {
			l.changes[v.revision] = between(past[0], is)
			for _, old := range past[1:] {
				l.first[v.revision] = append(l.first[v.revision], between(old, attempt(old, is)))
			}
		}
		l.stamps[is.stamp] = v.revision
		past = append([]state{is}, past[:min(len(past), cachedVersions)]...)
	}
	return l
}

// cachedVersions is by how many versions the API server's cache may lag behind.
const cachedVersions = 3

// attempt returns the changes that a write would have made to an older version. Its writer, who
// owns the stamp, then owns what it owns now, exclusively where the value differs.
func attempt(old, is state) state {
	writers := is.owners[fieldName("metadata")+fieldName("annotations")+fieldName(stampName)]
	made := state{owners: maps.Clone(old.owners), values: maps.Clone(old.values), stamp: is.stamp}
	for path, owners := range is.owners {
		mine := slices.DeleteFunc(slices.Clone(owners), func(o string) bool { return !slices.Contains(writers, o) })
		if len(mine) == 0 {
			continue
		}
		if old.values[path] == is.values[path] {
			mine = slices.Concat(mine, minus(old.owners[path], mine))
		}
		slices.Sort(mine)
		made.owners[path], made.values[path] = mine, is.values[path]
	}
	return made
}

func stateOf(t *testing.T, object map[string]any) state {
	t.Helper()
	s := state{owners: map[string][]string{}, values: map[string]string{}}
	metadata := object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		e := entry.(map[string]any)
		owner := ownerText(e)
		if e["subresource"] == "status" {
			continue
		}
		fields, _ := e["fieldsV1"].(map[string]any)
		flattenFields("", fields, func(path string) { s.owners[path] = append(s.owners[path], owner) })
	}
	for path := range s.owners {
		slices.Sort(s.owners[path])
	}
	delete(metadata, "managedFields")
	flattenValues("", object, s.values)
	annotations, _ := metadata["annotations"].(map[string]any)
	s.stamp, _ = annotations[stampName].(string)
	return s
}

// ownerText identifies an owner: manager, how, and version.
func ownerText(e map[string]any) string {
	how, _ := e["operation"].(string)
	if sub, _ := e["subresource"].(string); sub != "" {
		how = sub
	}
	return fmt.Sprintf("%s (%s)@%s", e["manager"], how, e["apiVersion"])
}

// flattenFields visits each path in a field set.
func flattenFields(prefix string, set map[string]any, visit func(path string)) {
	for key, below := range set {
		if key == "." {
			visit(prefix)
			continue
		}
		path := prefix + element(key)
		if inside, _ := below.(map[string]any); len(inside) > 0 {
			flattenFields(path, inside, visit)
			continue
		}
		visit(path)
	}
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// element returns a field set's key as a path element; these objects have no lists.
func element(key string) string {
	name, ok := strings.CutPrefix(key, "f:")
	if !ok {
		return "[?" + key + "]"
	}
	return fieldName(name)
}

func fieldName(name string) string {
	if plain.MatchString(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

// flattenValues returns the JSON of each leaf, and a mark for each map.
func flattenValues(prefix string, value any, out map[string]string) {
	if m, ok := value.(map[string]any); ok {
		out[prefix] = "a map"
		for name, v := range m {
			flattenValues(prefix+fieldName(name), v, out)
		}
		return
	}
	text, _ := json.Marshal(value)
	out[prefix] = string(text)
}

// between returns the change of each path at which an owner lost something that others own.
func between(was, is state) map[string]change {
	out := map[string]change{}
	for path, before := range was.owners {
		after := is.owners[path]
		if len(after) == 0 || len(minus(before, after)) == 0 {
			continue
		}
		c := change{path: path, before: before, after: after, stamp: is.stamp}
		// A path in neither version is also unchanged: an empty map of data is owned, but not
		// stored.
		switch same := was.values[path] == is.values[path]; {
		case !same:
			c.kind = taken
			if byOtherMeans(minus(before, after), after) {
				c.kind = own
			}
			c.forced = slices.ContainsFunc(after, func(o string) bool { return strings.Contains(o, " (Apply)@") })
		case len(minus(after, before)) > 0 || strings.HasPrefix(is.stamp, adopting) || byOtherMeans(minus(before, after), after):
			c.kind = moved
		case was.values[path] == "":
			c.kind = lost // not stored, so it is unknown whether it was taken or released
		default:
			c.kind = released
		}
		out[path] = c
	}
	return out
}

// mayBeTaken reports whether a change may be recorded as taken.
func (c change) mayBeTaken() bool { return c.kind == taken || c.kind == own }

// byOtherMeans reports whether the managers that lost a path still own it by another operation.
func byOtherMeans(lost, after []string) bool {
	return !slices.ContainsFunc(lost, func(l string) bool {
		return !slices.ContainsFunc(after, func(o string) bool { return named(o) == named(l) })
	})
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// parties returns a path and the owners on both sides, sorted.
func parties(path string, a, b []string) string {
	one, other := strings.Join(a, ","), strings.Join(b, ",")
	return path + " " + min(one, other) + " <> " + max(one, other)
}

// all returns a life's changes in order.
func (l life) all() (changes []change) {
	for _, revision := range l.revisions {
		for _, path := range slices.Sorted(maps.Keys(l.changes[revision])) {
			changes = append(changes, l.changes[revision][path])
		}
	}
	return changes
}
