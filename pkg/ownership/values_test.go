package ownership_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// valuesOf returns the values at a path that a record may keep, for two versions of an object with
// the given specs.
func valuesOf(t *testing.T, kind schema.GroupKind, path, old, now string) ownership.ValueChange {
	t.Helper()
	p, err := fieldpath.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(spec string) *ownership.Lookup {
		var object map[string]any
		if err := yaml.Unmarshal([]byte("spec: "+spec), &object); err != nil {
			t.Fatal(err)
		}
		whole(object)
		return ownership.NewLookup(object)
	}
	return ownership.ValuesOf(kind, p, read(old), read(now))
}

// whole converts numbers to integers, as in objects from the API server.
func whole(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name, value := range m {
		if f, ok := value.(float64); ok && f == float64(int64(f)) {
			m[name] = int64(f)
		}
		whole(m[name])
	}
}

func TestValuesOf(t *testing.T) {
	pod := func(list, image string) string {
		return "{template: {spec: {" + list + ": [{name: app, image: '" + image + "', env: [{name: a, value: '" + image + "'}]}]}}}"
	}
	const image = `.spec.template.spec.containers[name="app"].image`
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for name, tt := range map[string]struct {
		kind, path, old, now, want string
	}{
		"replicas":                            {"Deployment.apps", ".spec.replicas", "{replicas: 3}", "{replicas: 5}", "3 > 5"},
		"replicas to zero":                    {"StatefulSet.apps", ".spec.replicas", "{replicas: 3}", "{replicas: 0}", "3 > 0"},
		"the same":                            {"ReplicaSet.apps", ".spec.replicas", "{replicas: 3}", "{replicas: 3}", ""},
		"unknown before":                      {"Deployment.apps", ".spec.replicas", "{}", "{replicas: 3}", ""},
		"not a number":                        {"Deployment.apps", ".spec.replicas", "{replicas: secret}", "{replicas: 5}", ""},
		"not an integer":                      {"Deployment.apps", ".spec.replicas", "{replicas: 1.5}", "{replicas: 5}", ""},
		"of another group":                    {"Deployment.example.com", ".spec.replicas", "{replicas: 3}", "{replicas: 5}", ""},
		"another path":                        {"Deployment.apps", ".spec.minReadySeconds", "{minReadySeconds: 3}", "{minReadySeconds: 5}", ""},
		"the whole spec":                      {"Deployment.apps", ".spec", "{replicas: 3}", "{replicas: 5}", ""},
		"minimum replicas of an autoscaler":   {"HorizontalPodAutoscaler.autoscaling", ".spec.minReplicas", "{minReplicas: 1}", "{minReplicas: 2}", "1 > 2"},
		"maximum replicas of an autoscaler":   {"HorizontalPodAutoscaler.autoscaling", ".spec.maxReplicas", "{maxReplicas: 1}", "{maxReplicas: 2}", "1 > 2"},
		"paused":                              {"Deployment.apps", ".spec.paused", "{}", "{paused: true}", "false > true"},
		"suspended":                           {"CronJob.batch", ".spec.suspend", "{suspend: true}", "{suspend: false}", "true > false"},
		"not a boolean":                       {"Job.batch", ".spec.suspend", "{suspend: secret}", "{suspend: true}", ""},
		"an image":                            {"Deployment.apps", image, pod("containers", "r.example:5000/a_b/web:1.2"), pod("containers", "web"+digest), "r.example:5000/a_b/web:1.2 > web" + digest},
		"of an init container":                {"DaemonSet.apps", `.spec.template.spec.initContainers[name="app"].image`, pod("initContainers", "web:1"), pod("initContainers", "web:2"), "web:1 > web:2"},
		"of a pod":                            {"Pod", `.spec.containers[name="app"].image`, "{containers: [{name: app, image: 'web:1'}]}", "{containers: [{name: app, image: 'web:2'}]}", "web:1 > web:2"},
		"of a CronJob":                        {"CronJob.batch", `.spec.jobTemplate.spec.template.spec.containers[name="app"].image`, "{jobTemplate: {spec: " + pod("containers", "web:1") + "}}", "{jobTemplate: {spec: " + pod("containers", "web:2") + "}}", "web:1 > web:2"},
		"image URL with a password":           {"Deployment.apps", image, pod("containers", "https://user:pass@r.example/web"), pod("containers", "web:2"), ""},
		"image with a password but no scheme": {"Deployment.apps", image, pod("containers", "user:pass@r.example/web"), pod("containers", "web:2"), ""},
		"with a query":                        {"Deployment.apps", image, pod("containers", "r.example/web?token=x"), pod("containers", "web:2"), ""},
		"too long":                            {"Deployment.apps", image, pod("containers", strings.Repeat("a", 300)), pod("containers", "web:2"), ""},
		"an environment":                      {"Deployment.apps", `.spec.template.spec.containers[name="app"].env[name="a"].value`, pod("containers", "web:1"), pod("containers", "web:2"), ""},
		"a whole container":                   {"Deployment.apps", `.spec.template.spec.containers[name="app"]`, pod("containers", "web:1"), pod("containers", "web:2"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := valuesOf(t, schema.ParseGroupKind(tt.kind), tt.path, tt.old, tt.now)
			if text := got.From + " > " + got.To; text != tt.want && (tt.want != "" || text != " > ") {
				t.Errorf("%s, want %s", text, tt.want)
			}
		})
	}
}

// Records keep values only of nine built-in kinds, which do not include Secret.
func TestKindsWithValues(t *testing.T) {
	kept := map[string]bool{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		for _, path := range []string{".spec.replicas", ".spec.maxReplicas", `.spec.template.spec.containers[name="app"].image`, ".spec.suspend"} {
			if valuesOf(t, gvk.GroupKind(), path, "{replicas: 1, maxReplicas: 1, suspend: false, template: {spec: {containers: [{name: app, image: a}]}}}",
				"{replicas: 2, maxReplicas: 2, suspend: true, template: {spec: {containers: [{name: app, image: b}]}}}") != (ownership.ValueChange{}) {
				kept[gvk.GroupKind().String()] = true
			}
		}
	}
	if len(kept) != 9 || kept["Secret"] || kept["ConfigMap"] {
		t.Errorf("values are kept of %v", kept)
	}
}

// A Scale omits its number of replicas if that is zero.
func TestScaleValues(t *testing.T) {
	scale := func(spec map[string]any) map[string]any { return map[string]any{"spec": spec} }
	three, none := scale(map[string]any{"replicas": int64(3)}), scale(map[string]any{})
	if got := ownership.ScaleValues(three, none); got != (ownership.ValueChange{From: "3", To: "0"}) {
		t.Errorf("%+v", got)
	}
	if got := ownership.ScaleValues(scale(map[string]any{"replicas": "secret"}), three); got != (ownership.ValueChange{}) {
		t.Errorf("%+v", got)
	}
}

// A record's values are those of the last occurrence. If these are unknown, the record has no
// values.
func TestRecordValues(t *testing.T) {
	valued := func(from, to, was, is string) ownership.Transition {
		tr := taken("a", from, to)
		tr.Values = ownership.ValueChange{From: was, To: is}
		return tr
	}
	type report struct {
		ownership.Transition
		minute int
	}
	there, back := valued("flux", "hpa", "3", "5"), valued("hpa", "flux", "5", "3")
	for name, tt := range map[string]struct {
		reports []report
		want    string
	}{
		"taken and taken back":                        {[]report{{there, 0}, {back, 1}}, "5 > 3"},
		"reported in the wrong order":                 {[]report{{back, 1}, {there, 0}}, "5 > 3"},
		"the last one is unknown":                     {[]report{{there, 0}, {taken("a", "hpa", "flux"), 1}}, " > "},
		"second replica adds the values":              {[]report{{taken("a", "flux", "hpa"), 0}, {there, 0}}, "3 > 5"},
		"second replica has no values":                {[]report{{there, 0}, {taken("a", "flux", "hpa"), 0}}, "3 > 5"},
		"values of an earlier occurrence arrive late": {[]report{{taken("a", "flux", "hpa"), 0}, {taken("a", "hpa", "flux"), 1}, {there, 0}}, " > "},
	} {
		var r ownership.Record
		for _, one := range tt.reports {
			r.Add(one.Transition, minute(one.minute))
		}
		if got := r.Entries[0].FromValue + " > " + r.Entries[0].ToValue; len(r.Entries) != 1 || got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
