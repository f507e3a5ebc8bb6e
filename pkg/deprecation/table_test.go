package deprecation

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// everyRow returns the table's rows, parsed as the package parses them.
func everyRow(t testing.TB) map[schema.GroupVersionKind]Lifecycle {
	t.Helper()
	all := map[schema.GroupVersionKind]Lifecycle{}
	for text := range strings.Lines(table) {
		if strings.HasPrefix(text, "#") {
			continue
		}
		cells := strings.Fields(text)
		if len(cells) != 7 {
			t.Fatalf("%d cells: %q", len(cells), text)
		}
		kind := schema.GroupVersionKind{Group: strings.TrimPrefix(cells[0], none), Version: cells[2], Kind: cells[1]}
		lc, ok := Builtin(kind)
		if !ok {
			t.Fatalf("not found: %q", text)
		}
		for i, r := range []Release{lc.Introduced, lc.Deprecated, lc.Removed} {
			if got := r.String(); got != strings.TrimPrefix(cells[3+i], none) {
				t.Errorf("%q: release %d is %q", text, i, got)
			}
		}
		all[kind] = lc
	}
	if len(all) < 150 {
		t.Fatalf("%d rows", len(all))
	}
	return all
}

func TestTable(t *testing.T) {
	all := everyRow(t)
	for kind, lc := range all {
		if !lc.Replacement.Empty() {
			if _, known := all[lc.Replacement]; !known {
				t.Errorf("%s: its replacement is not in the table: %s", kind, lc.Replacement)
			}
		}
		if lc.Introduced.IsZero() || !lc.Removed.IsZero() && (lc.Deprecated.IsZero() || lc.Removed.Compare(lc.Deprecated) < 0) {
			t.Errorf("%s: introduced %q, deprecated %q, removed %q", kind, lc.Introduced, lc.Deprecated, lc.Removed)
		}
		rows := rowsOf(kind.GroupKind())
		if !slices.IsSortedFunc(rows, func(a, b row) int { return version.CompareKubeAwareVersionStrings(b.version, a.version) }) {
			t.Errorf("%s: its versions are not in order: %v", kind, rows)
		}
	}
}

// On every server, the recommended version is served.
func TestAdviceIsServed(t *testing.T) {
	all := everyRow(t)
	for kind := range all {
		for minor := 20; minor <= 45; minor++ {
			server := v1(minor)
			n, ok := Check(kind, server)
			if !ok || n.Use.Empty() {
				continue
			}
			if n.Use == kind || !all[n.Use].servedBy(server) {
				t.Errorf("%s on %s: %s", kind, server, n)
			}
			if next, worse := Check(n.Use, server); worse && !next.Use.Empty() {
				t.Errorf("%s on %s: %s, but the recommended version is deprecated too: %s", kind, server, n, next)
			}
		}
	}
}

// The chart's rules for updates contain exactly the kinds that some server may report.
func TestChartKinds(t *testing.T) {
	text, err := os.ReadFile("../../charts/k8sconnect/files/deprecated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := yaml.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	listed := map[schema.GroupVersionKind]bool{}
	for _, name := range names {
		listed[parseGVK(name)] = true
	}
	for kind, lc := range everyRow(t) {
		want := false
		for minor := 30; minor <= 60; minor++ {
			_, reported := Check(kind, v1(minor))
			want = want || reported && !v1(minor).reached(lc.Removed)
		}
		// A version that is removed as soon as it is deprecated is never reported.
		if listed[kind] != want && lc.Deprecated != lc.Removed {
			t.Errorf("%s: listed %v, want %v", kind, listed[kind], want)
		}
	}
	if !slices.IsSorted(names) || len(listed) != len(names) || listed[schema.GroupVersionKind{}] {
		t.Errorf("got %q, want a sorted list of distinct kinds", names)
	}
}

// The API server calls the webhook for a create of only these kinds: a missing kind would never be
// reported, and a superfluous one would cost calls.
func TestChartKindsWithFields(t *testing.T) {
	text, err := os.ReadFile("../../charts/k8sconnect/files/deprecated-fields.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	if err := yaml.Unmarshal(text, &listed); err != nil {
		t.Fatal(err)
	}
	kinds := map[schema.GroupKind]bool{}
	for _, name := range listed {
		group, kind, _ := strings.Cut(name, "/")
		kinds[schema.GroupKind{Group: group, Kind: kind}] = true
	}
	every := maps.Clone(kinds)
	for gvk := range everyRow(t) {
		every[gvk.GroupKind()] = true
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		every[gvk.GroupKind()] = true
	}
	for kind := range every {
		reported := false
		for _, set := range rulesFor(kind) {
			for _, r := range set.rules {
				reported = reported || r.gone.IsZero() || !v1(30).reached(r.gone)
			}
		}
		if kind.Group == "extensions" {
			reported = false // It is not served any more.
		}
		if reported != kinds[kind] {
			t.Errorf("%s: listed %t, has deprecated fields %t", kind, kinds[kind], reported)
		}
	}
}

func everyRule() []rule {
	rules := append(podRules(), claimTemplateRules()...)
	for _, kind := range []schema.GroupKind{
		{Kind: "Service"},
		{Kind: "ServiceAccount"},
		{Kind: "Node"},
		{Kind: "PersistentVolume"},
		{Kind: "PersistentVolumeClaim"},
		{Group: "networking.k8s.io", Kind: "Ingress"},
		{Group: "node.k8s.io", Kind: "RuntimeClass"},
		{Group: "storage.k8s.io", Kind: "StorageClass"},
	} {
		rules = append(rules, objectRules(kind)...)
	}
	return rules
}

func TestRules(t *testing.T) {
	for _, r := range everyRule() {
		if r.path == "" || r.source == "" || !r.gone.IsZero() && r.gone.Compare(r.since) < 0 {
			t.Errorf("%+v", r)
		}
		if r.use != line(r.use) {
			t.Errorf("%s: %q", r.path, r.use)
		}
	}
}

// Every field that the newest types call deprecated has a rule, or a reason to have none. With a
// newer release of Kubernetes, this fails until the new fields are reviewed.
func TestDocumentedFieldsHaveRules(t *testing.T) {
	without := map[string]string{
		"discovery.k8s.io/v1 Endpoint.deprecatedTopology":   "can not be set",
		"discovery.k8s.io/v1 EndpointSlice.addressType":     "written by controllers, never seen by the webhook",
		"events.k8s.io/v1 Event.deprecatedCount":            "written by controllers, never seen by the webhook",
		"events.k8s.io/v1 Event.deprecatedFirstTimestamp":   "written by controllers, never seen by the webhook",
		"events.k8s.io/v1 Event.deprecatedLastTimestamp":    "written by controllers, never seen by the webhook",
		"events.k8s.io/v1 Event.deprecatedSource":           "written by controllers, never seen by the webhook",
		"networking.k8s.io/v1 IngressSpec.ingressClassName": "speaks of the annotation, which has a rule",
		"v1 FlockerVolumeSource.datasetName":                "the volume itself has a rule",
		"v1 NodeSpec.externalID":                            "written by kubelets of long ago",
		"v1 NodeStatus.phase":                               "status",
		"v1 NodeSystemInfo.kubeProxyVersion":                "status",
		"v1 PodStatus.resize":                               "status",
		"v1 Volume.(inline)":                                "a volume of no type, which is no field",
	}
	text, err := os.ReadFile("testdata/documented.txt")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for text := range strings.Lines(string(text)) {
		if !strings.HasPrefix(text, "#") {
			documented[strings.TrimSpace(text)] = true
		}
	}
	ruled := map[string]bool{}
	for _, r := range everyRule() {
		ruled[r.source] = true
		if strings.HasPrefix(r.source, "v1 ") && !documented[r.source] {
			t.Errorf("%s: the API types do not call %s deprecated", r.path, r.source)
		}
	}
	for field := range documented {
		if ruled[field] == (without[field] != "") {
			t.Errorf("%s: has a rule: %v, reason to have no rule: %q; want exactly one of them", field, ruled[field], without[field])
		}
	}
	for field := range without {
		if !documented[field] {
			t.Errorf("%s: listed as a field without a rule, but the API types no longer call it deprecated", field)
		}
	}
}
