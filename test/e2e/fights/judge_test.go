package fights_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// truth is the audit log's history of a path of an object: its values in order, who set it, and who
// removed it.
type truth struct {
	values            []string
	setters, removers map[string]bool
}

// logged is the content of the audit log: the paths of each object, and the writes of each resource
// that changed nothing.
type logged struct {
	paths map[string]map[string]*truth
	idle  map[string]int
}

// stored is the response to a write.
type stored struct {
	version int
	writer  string
	leaves  map[string]string
}

// read reads the log. Writers whose names end with "-applies" use apply.
func read(t *testing.T, events []cluster.AuditEvent) logged {
	t.Helper()
	versions := map[string][]stored{}
	out := logged{paths: map[string]map[string]*truth{}, idle: map[string]int{}}
	for _, e := range events {
		u, err := url.Parse(e.RequestURI)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]string{"create", "update", "patch"}, e.Verb) || e.ResponseStatus.Code >= 300 || len(e.ResponseObject) == 0 {
			continue
		}
		var o struct {
			Kind     string
			Metadata struct{ Name, ResourceVersion string }
		}
		var all map[string]any
		if json.Unmarshal(e.ResponseObject, &o) != nil || json.Unmarshal(e.ResponseObject, &all) != nil {
			t.Fatalf("%s", e.ResponseObject)
		}
		writer := u.Query().Get("fieldManager")
		one := stored{writer: writer + " Update", leaves: map[string]string{}}
		if strings.HasSuffix(writer, "-applies") {
			one.writer = writer + " Apply"
		}
		one.version, _ = strconv.Atoi(o.Metadata.ResourceVersion)
		if o.Kind == "Scale" { // contains its object's version and one field
			o.Kind, one.writer = "Deployment", writer+" Update scale"
			one.leaves = map[string]string{".spec.replicas": fmt.Sprint(all["spec"].(map[string]any)["replicas"])}
			if all["spec"].(map[string]any)["replicas"] == nil {
				one.leaves[".spec.replicas"] = "0"
			}
		} else {
			leaves(one.leaves, "", all)
		}
		key := o.Kind + "/" + o.Metadata.Name
		versions[key] = append(versions[key], one)
	}
	for key, all := range versions {
		out.paths[key] = map[string]*truth{}
		slices.SortStableFunc(all, func(a, b stored) int { return a.version - b.version })
		now := map[string]string{}
		for i, one := range all {
			if i > 0 && one.version == all[i-1].version {
				out.idle[strings.Split(key, "/")[0]]++
				continue
			}
			if strings.HasSuffix(one.writer, " scale") { // says nothing about other paths
				replicas := one.leaves[".spec.replicas"]
				one.leaves = maps.Clone(now)
				one.leaves[".spec.replicas"] = replicas
			}
			out.change(key, now, one)
			now = one.leaves
		}
	}
	return out
}

// change records a write's changes.
func (l *logged) change(key string, before map[string]string, after stored) {
	at := func(path string) *truth {
		if l.paths[key][path] == nil {
			l.paths[key][path] = &truth{setters: map[string]bool{}, removers: map[string]bool{}}
		}
		return l.paths[key][path]
	}
	for path, v := range after.leaves {
		if was, had := before[path]; !had || was != v {
			p := at(path)
			p.values = append(p.values, v)
			switch {
			case len(before) == 0:
			case strings.HasSuffix(after.writer, " scale") && v == "0": // That object leaves out 0, and its managed fields too.
				p.removers["Update"] = true
			default:
				p.setters[after.writer] = true
			}
		}
	}
	for path := range before {
		if _, has := after.leaves[path]; !has {
			p := at(path)
			p.values = append(p.values, "")
			p.removers[after.writer] = true
		}
	}
}

// leaves adds each value that is not a map, under its path in the plugin's notation: of the
// metadata only labels and annotations, and nothing of the status.
func leaves(out map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			path := at + "." + name
			skip := path == ".status" || strings.HasPrefix(path, ".metadata.") && at == ".metadata" && name != "labels" && name != "annotations"
			if !skip {
				leaves(out, path, below)
			}
		}
	case []any:
		for i, item := range v {
			name := strconv.Itoa(i)
			if m, isMap := item.(map[string]any); isMap && m["name"] != nil {
				name = fmt.Sprintf("name=%q", m["name"])
			}
			leaves(out, at+"["+name+"]", item)
		}
	default:
		out[at] = fmt.Sprint(v)
	}
}

// report is the verb's report.
type report struct {
	Seconds          float64
	Objects, Unclear int
	Fights           []struct {
		Kind, Name, Class string
		Writes            int
		Paths             []struct {
			Path    string
			Values  []any
			Writers []writer
		}
		Next []string
	}
	NotStored []struct {
		Kind   string
		Writes int
	}
	Unread []any
}

type writer struct {
	Manager, Operation, Subresource string
	Unknown                         bool
}

func (w writer) String() string {
	return strings.TrimSpace(w.Manager + " " + w.Operation + " " + w.Subresource)
}

// judge compares a report with the log: each reported path changes back and forth there, and each
// reported writer has set it. "unknown" stands for exactly those that remove it by an update, or
// scale to 0.
func (l *logged) judge(t *testing.T, r report) (found map[string]bool) {
	t.Helper()
	found = map[string]bool{}
	for _, f := range r.Fights {
		if f.Class == "not-stored" {
			found[strings.TrimSuffix(f.Kind+"/"+f.Name, "/")] = true
			if f.Writes > l.idle[f.Kind] || f.Writes == 0 {
				t.Errorf("%d writes of %s that change nothing, the log has %d in a longer time", f.Writes, f.Kind, l.idle[f.Kind])
			}
			continue
		}
		key := f.Kind + "/" + f.Name
		found[key] = true
		for _, p := range f.Paths {
			is := l.paths[key][p.Path]
			if is == nil || len(is.values) < 3 {
				t.Errorf("%s: %s does not change back and forth: %+v", key, p.Path, is)
				continue
			}
			want := slices.Sorted(maps.Keys(is.setters))
			if slices.ContainsFunc(slices.Collect(maps.Keys(is.removers)), func(w string) bool { return strings.HasSuffix(w, "Update") }) {
				want = append(want, "unknown")
			}
			var got []string
			for _, w := range p.Writers {
				if w.Unknown {
					got = append(got, "unknown")
				} else {
					got = append(got, w.String())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s: %s is written by %q, the log has %q", key, p.Path, got, want)
			}
			for _, v := range p.Values {
				if text := fmt.Sprint(v); v != nil && !slices.Contains(is.values, text) {
					t.Errorf("%s: %s never had the value %s: %q", key, p.Path, text, is.values)
				}
			}
		}
	}
	return found
}
