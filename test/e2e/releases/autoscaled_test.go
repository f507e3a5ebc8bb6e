package releases_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Replicas that an autoscaler sets are removed from the chart: give would take them from the autoscaler, which would
// set them again. The replicas survive this as forecast: a server-side upgrade leaves them to the autoscaler, and a
// client-side one resets them to 1.
// https://github.com/windmill-labs/windmill-helm-charts/issues/543
// https://github.com/CartoDB/carto-selfhosted-helm/pull/891
func TestAutoscaledReplicas(t *testing.T) {
	with, without := with(workload, "STRATEGY", "replicas: 2"), with(workload)
	for name, tt := range map[string]struct {
		install, upgrade string
		want             int64
	}{
		"server-side":             {"--server-side=true", "--server-side=auto", 5},
		"client-side":             {"--server-side=false", "--server-side=auto", 1},
		"client-then-server-side": {"--server-side=false", "--server-side=true", 5},
	} {
		for _, by := range []string{"kube-controller-manager", "vpa-recommender"} {
			t.Run(name+" "+by, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, "autoscaled-"+name+"-"+by)
				s.kinds = map[string]schema.GroupVersionResource{"Deployment": gvr("apps", "v1", "deployments")}
				s.helm.Run(t, "install", "web", folder(t, with), "-n", s.namespace, tt.install)
				scale := metav1.PatchOptions{FieldManager: by}
				if _, err := s.of(s.kinds["Deployment"]).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"replicas": 5}}`), scale, "scale"); err != nil {
					t.Fatal(err)
				}
				_, all, text := s.forecasts(t, "web")
				f := all[0]
				prefix := "remove .spec.replicas of deployment.apps/web -n " + s.namespace + " from the chart"
				if len(f.Autoscaled) != 1 || len(f.Next) != 1 || !strings.HasPrefix(f.Next[0], prefix) || strings.Contains(f.Next[0], "--server-side=true") == f.ServerSide {
					t.Fatal(text)
				}
				chart := folder(t, without)
				status, all, text := s.forecasts(t, "web", s.output(t, chart))
				if f = all[0]; status != 0 || len(f.Removes) != 0 == f.ServerSide || len(f.Next) != 0 {
					t.Error(text)
				}
				if !f.ServerSide && (f.Removes[0].Paths[0].Path != ".spec.replicas" || asJSON(f.Removes[0].Paths[0].Yours) != "1") {
					t.Error(text)
				}
				s.helm.Run(t, "upgrade", "web", chart, "-n", s.namespace, tt.upgrade)
				if got, _ := at(s.live(t)["Deployment web"].Object, ".spec.replicas"); got != tt.want {
					t.Errorf("%v replicas, want %d", got, tt.want)
				}
			})
		}
	}
}

// If the autoscaler owns other fields in conflict, too, the printed command names these, and leaves the replicas.
func TestAutoscalerWithOtherFields(t *testing.T) {
	s := newSite(t, "autoscaler-fields")
	s.kinds = map[string]schema.GroupVersionResource{"Deployment": gvr("apps", "v1", "deployments")}
	template := strings.Replace(with(workload, "STRATEGY", "replicas: 2\n  minReadySeconds: 1"), "{name: web}", "{name: web, annotations: {a.example.com/b: c}}", 1)
	s.helm.Run(t, "install", "web", folder(t, template), "-n", s.namespace)
	by := metav1.PatchOptions{FieldManager: "keda-operator"}
	if _, err := s.of(s.kinds["Deployment"]).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"replicas": 5}}`), by, "scale"); err != nil {
		t.Fatal(err)
	}
	s.merge(t, "Deployment", "keda-operator", `{"spec": {"minReadySeconds": 2}, "metadata": {"annotations": {"a.example.com/b": "d"}}}`)
	s.merge(t, "Deployment", "kubectl-edit", `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:2"}]}}}}`)
	_, all, text := s.forecasts(t, "web")
	next := all[0].Next
	if len(next) != 3 || !strings.HasPrefix(next[0], "remove .spec.replicas of") || !strings.HasSuffix(next[1], " --from=kubectl-edit") || !strings.HasSuffix(next[2], " --from=keda-operator") {
		t.Fatal(text)
	}
	for _, line := range next[1:] { // The stored manifest still sets the replicas, so a conflict remains.
		s.run(t, strings.ReplaceAll(line, "'", ""), 1)
	}
	s.helm.Run(t, "upgrade", "web", folder(t, strings.Replace(template, "replicas: 2\n", "\n", 1)), "-n", s.namespace)
	live := s.live(t)["Deployment web"].Object
	for path, want := range map[string]any{".spec.replicas": int64(5), ".spec.minReadySeconds": int64(1), `.metadata.annotations["a.example.com/b"]`: "c"} {
		if got, _ := at(live, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}
