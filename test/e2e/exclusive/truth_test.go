package exclusive_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// keys lists the fields that identify the items of a list, by the list's name and, where two kinds
// disagree, by what the items have. The API server publishes them as x-kubernetes-list-map-keys.
var keys = map[string][][]string{
	"containers": {{"name"}}, "initContainers": {{"name"}}, "ephemeralContainers": {{"name"}}, "env": {{"name"}},
	"volumes": {{"name"}}, "imagePullSecrets": {{"name"}}, "volumeMounts": {{"mountPath"}}, "volumeDevices": {{"devicePath"}},
	"ports": {{"containerPort", "protocol"}, {"port", "protocol"}}, "hostAliases": {{"ip"}},
	"topologySpreadConstraints": {{"topologyKey", "whenUnsatisfiable"}}, "items": {{"name"}}, "conditions": {{"type"}},
}

// sets lists the lists of scalars whose items have owners.
var sets = []string{"finalizers", "tags"}

// atomics lists maps that are owned as a whole.
var atomics = []string{"nodeSelector", "selector", "matchLabels", "whole", "limits", "requests"}

// flatten returns the leaves of a value by path. A list without keys is a leaf.
func flatten(into map[string]string, path, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			flatten(into, path+field(key), key, below)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		if steps, ok := items(name, v); ok && strings.Count(path, ".") > 1 {
			for i, step := range steps {
				if m, is := v[i].(map[string]any); is {
					flatten(into, path+step, "", m)
				} else {
					into[path+step] = text(v[i])
				}
			}
			return
		}
	}
	into[path] = text(v)
}

func items(name string, list []any) (steps []string, ok bool) {
	if len(list) == 0 {
		return nil, false
	}
	for _, item := range list {
		m, is := item.(map[string]any)
		if !is {
			if !slices.Contains(sets, name) {
				return nil, false
			}
			steps = append(steps, "[="+text(item)+"]")
			continue
		}
		i := slices.IndexFunc(keys[name], func(key []string) bool { return m[key[0]] != nil })
		if i < 0 {
			return nil, false
		}
		var parts []string
		for _, key := range keys[name][i] {
			v := m[key]
			if key == "protocol" && v == nil {
				v = "TCP"
			}
			parts = append(parts, key+"="+text(v))
		}
		steps = append(steps, "["+strings.Join(parts, ",")+"]")
	}
	return steps, true
}

func field(name string) string {
	if strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) >= 0 {
		return "[" + strconv.Quote(name) + "]"
	}
	return "." + name
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// fresh removes what every object has for itself: its identity, its status, and allocated values.
// Node ports are allocated only if the server needs them in both objects.
func fresh(o map[string]any, nodePorts bool) map[string]any {
	out := clone(o)
	meta := out["metadata"].(map[string]any)
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace"} {
		delete(meta, name)
	}
	delete(out, "status")
	if annotations, ok := meta["annotations"].(map[string]any); ok && out["kind"] == "DaemonSet" {
		delete(annotations, "deprecated.daemonset.template.generation") // The server counts the changes of the template.
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	if spec, ok := out["spec"].(map[string]any); ok && out["kind"] == "Service" {
		for _, name := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			delete(spec, name)
		}
		ports, _ := spec["ports"].([]any)
		if !nodePorts {
			ports = nil
		}
		for _, port := range ports {
			delete(port.(map[string]any), "nodePort")
		}
	}
	return out
}

// differing returns the leaves at which two objects differ, sorted. A value that is empty in one and
// absent in the other makes no difference to the API server's own kinds, but an object of an own kind
// keeps it.
func differing(live, truth map[string]any) []string {
	a, b := map[string]string{}, map[string]string{}
	nodePorts := hasNodePorts(live) && hasNodePorts(truth)
	flatten(a, "", "", fresh(live, nodePorts))
	flatten(b, "", "", fresh(truth, nodePorts))
	var out []string
	for path := range maps.Keys(a) {
		if other, there := b[path]; !there || other != a[path] {
			out = append(out, path)
		}
	}
	for path := range maps.Keys(b) {
		if _, there := a[path]; !there {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func hasNodePorts(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	return spec["type"] == "NodePort" || spec["type"] == "LoadBalancer"
}

// touches reports whether one of the paths is at, above or below the other.
func touches(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || strings.HasPrefix(b, a) && (b[len(a)] == '.' || b[len(a)] == '[')
}

// stays reports whether the table of docs/design/exclusive.md leaves a path of the live object as it is.
func stays(want, live map[string]any, path string) bool {
	for _, p := range []string{
		".metadata.finalizers", ".metadata.ownerReferences",
		`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, `.metadata.annotations["kubernetes.io/change-cause"]`,
		`.metadata.annotations["deployment.kubernetes.io/revision"]`, `.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`,
	} {
		if touches(p, path) {
			return true
		}
	}
	entries, _ := live["metadata"].(map[string]any)["managedFields"].([]any)
	if len(entries) == 0 { // Without any owner, the server records none, not even of later writes.
		return !isBare(want)
	}
	unowned := true
	if path == ".spec.mode" && live["kind"] == "Widget" && isKept(entries) {
		return true // The default of a spec that stays.
	}
	for _, e := range entries {
		e := e.(map[string]any)
		walk("", e["fieldsV1"].(map[string]any), func(p string) {
			last := p[strings.LastIndexAny(p, ".[")+1:]
			if p == path || touches(p, path) && (len(p) > len(path) || slices.Contains(atomics, last)) {
				unowned = false
			}
		})
		manager, _ := e["manager"].(string)
		if e["subresource"] == nil && !strings.HasPrefix(manager, "kube-") && (manager != "before-first-apply" || isBare(want)) {
			continue
		}
		owned := false
		walk("", e["fieldsV1"].(map[string]any), func(p string) {
			owned = owned || touches(p, path) && p != ".metadata" && p != ".spec" || identifies(path, p)
		})
		if owned {
			return true
		}
	}
	return unowned // A default of something that others applied, or a field whose owner has released it.
}

// isKept reports whether a controller owns a part of the spec.
func isKept(entries []any) bool {
	for _, e := range entries {
		e := e.(map[string]any)
		manager, _ := e["manager"].(string)
		if spec, _ := e["fieldsV1"].(map[string]any)["f:spec"]; spec != nil && e["subresource"] == nil && strings.HasPrefix(manager, "kube-") {
			return true
		}
	}
	return false
}

// bare returns the manifest of an object without any field.
func bare(o map[string]any) map[string]any {
	return map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": map[string]any{"name": o["metadata"].(map[string]any)["name"]}}
}

func mayBeBare(o map[string]any) bool {
	return slices.Contains([]any{"ConfigMap", "Secret", "ServiceAccount", "Widget"}, o["kind"])
}

// isBare reports whether an apply of the manifest owns nothing.
func isBare(want map[string]any) bool {
	return len(want) == 3 && len(want["metadata"].(map[string]any)) == 1
}

// identifies reports whether a path is part of the key of the list item that contains the other path, or a
// default of it. The item of a field that stays keeps these.
func identifies(path, stays string) bool {
	end := strings.LastIndex(stays, "]")
	at := strings.LastIndex(path, ".")
	return end > 0 && at > 0 && path[:at] == stays[:end+1] && slices.Contains([]string{"name", "port", "protocol", "containerPort", "mountPath", "targetPort"}, path[at+1:])
}

// walk visits the leaves of managed fields.
func walk(path string, fields map[string]any, visit func(string)) {
	below := 0
	for key, v := range fields {
		step := ""
		switch kind, rest, _ := strings.Cut(key, ":"); kind {
		case "f":
			step = field(rest)
		case "v":
			step = "[=" + rest + "]"
		case "k":
			var m map[string]any
			if err := json.Unmarshal([]byte(rest), &m); err != nil {
				panic(err)
			}
			var parts []string
			for _, name := range slices.Sorted(maps.Keys(m)) {
				parts = append(parts, name+"="+text(m[name]))
			}
			step = "[" + strings.Join(parts, ",") + "]"
		default:
			continue
		}
		below++
		walk(path+step, v.(map[string]any), visit)
	}
	if below == 0 {
		visit(path)
	}
}

// merge puts the partial object into the object, as a strategic merge patch would.
func merge(to, from map[string]any) {
	for name, v := range from {
		switch v := v.(type) {
		case map[string]any:
			below, ok := to[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				to[name] = below
			}
			merge(below, v)
		case []any:
			list, _ := to[name].([]any)
			to[name] = mergeList(name, list, v)
		default:
			to[name] = v
		}
	}
}

func mergeList(name string, to, from []any) []any {
	steps, keyed := items(name, to)
	added, ok := items(name, from)
	if !ok || !keyed && len(to) > 0 {
		return from
	}
	for i, step := range added {
		if at := slices.Index(steps, step); at >= 0 {
			if m, is := to[at].(map[string]any); is {
				merge(m, from[i].(map[string]any))
			}
			continue
		}
		to = append(to, from[i])
	}
	return to
}

func indented(v any) string {
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(out)
}
