package stranger

import (
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, u); err != nil {
		t.Fatal(err)
	}
	return u
}

// The functions take and return values: many goroutines call them with the same arguments, get the
// same results, and the arguments do not change. Run it with -race to find writes of equal values.
func TestArgumentsDoNotChange(t *testing.T) {
	live, manifest := read(t, "live.yaml"), read(t, "web.yaml")
	var pod *unstructured.Unstructured
	reader := &diagnosetest.Memory{}
	if err := read(t, "dump.yaml").EachListItem(func(item runtime.Object) error {
		u := item.(*unstructured.Unstructured)
		reader.Objects = append(reader.Objects, u)
		if u.GetKind() == "Pod" {
			pod = u
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	image, err := fieldpath.ParsePath(".spec.template.spec.containers[0].image")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	must := func(value any, err error) any {
		if err != nil {
			t.Error(err)
		}
		return value
	}
	set := managedfields.Managed(entries, "ci")
	for name, ask := range map[string]func() any{
		"fieldpath": func() any {
			path, _ := image.ByKey(live.Object)
			value, _ := path.Get(live.Object)
			return []any{path.String(), value, fieldpath.ManifestPaths(manifest.Object)}
		},
		"managedfields": func() any {
			fields, absent := managedfields.Tree(live.Object, entries)
			mine := managedfields.Project(live.Object, set)
			return []any{must(managedfields.Entries(live)), fields, absent, mine, managedfields.Compare(mine, manifest.Object, set)}
		},
		"predict": func() any {
			p := predict.Predictor{Manager: "ci"}
			prediction, err := p.Evaluate(plan.Item{Ref: object.RefOf(manifest), Object: manifest}, live)
			verdict, conflicts := noop.Evaluate(live, manifest, "ci")
			return []any{must(prediction.Body, err), prediction.Verdict, verdict, conflicts, must(predict.Taken(live, live, manifest, "ci"))}
		},
		"readiness": func() any {
			return readiness.For(pod.GroupVersionKind()).Evaluate(pod.Object, time.Unix(0, 0))
		},
		"unready": func() any {
			return unready.Diagnose(must(unready.Gather(t.Context(), reader, pod)).(unready.Facts))
		},
		"stuck": func() any {
			e := stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: reader, Now: diagnosetest.Now}}
			return stuck.Diagnose(must(e.Gather(t.Context(), pod)).(stuck.Facts))
		},
		"deprecation": func() any {
			return deprecation.Fields(pod, deprecation.Release{Major: 1, Minor: 36})
		},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := []*unstructured.Unstructured{live, manifest, pod}
			var before []*unstructured.Unstructured
			for _, u := range arguments {
				before = append(before, u.DeepCopy())
			}
			answers := make([]any, 8)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() { answers[i] = ask() })
			}
			all.Wait()
			for _, answer := range answers {
				if !reflect.DeepEqual(answer, answers[0]) {
					t.Errorf("different results for the same arguments:\n%v\n%v", answers[0], answer)
				}
			}
			if !reflect.DeepEqual(arguments, before) {
				t.Error("the arguments were changed")
			}
		})
	}
}
