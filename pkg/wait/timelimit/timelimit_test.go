package timelimit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
)

func kind(group, name, resource string) object.Kind {
	return object.Kind{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}, Resource: resource}
}

func TestLimits(t *testing.T) {
	job, web := kind("batch", "Job", "jobs"), kind("apps", "Deployment", "deployments")
	spec := func(text string) condition.Spec {
		s, err := condition.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for given, want := range map[string]struct {
		kind object.Kind
		// object, existence and condition are the expected limits in minutes; 0 means none.
		object, existence, condition int
	}{
		"Job=20m":                                {job, 20, 0, 0},
		"jobs=20m":                               {job, 20, 0, 0},
		"jobs.batch=20m":                         {job, 20, 0, 0},
		"jobs.example.com=20m":                   {job, 0, 0, 0},
		"Job=20m ":                               {web, 0, 0, 0},
		"ready=5m":                               {job, 0, 0, 5},
		"create=1m":                              {job, 0, 1, 0},
		"Job:create=1m,ready=5m,job=7m":          {job, 7, 1, 5},
		"Job:ready=2m,ready=5m":                  {job, 0, 0, 2},
		"ready=5m,Job:ready=2m":                  {job, 0, 0, 2},
		"ready=5m,Job:ready=2m ":                 {web, 0, 0, 5},
		"deployment:ready=3m,deployment.apps=4m": {web, 4, 0, 3},
	} {
		l, err := timelimit.Parse([]string{given})
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		in := func(d time.Duration, own bool) int {
			if own != (d > 0) {
				t.Errorf("%s: %s, %t", given, d, own)
			}
			return int(d.Minutes())
		}
		if got := fmt.Sprint(in(l.Object(want.kind)), in(l.Existence(want.kind)), in(l.Condition(want.kind, spec("ready")))); got != fmt.Sprint(want.object, want.existence, want.condition) {
			t.Errorf("%s: %s, want %+v", given, got, want)
		}
	}
	for _, text := range []string{"condition=Complete", "self.status.active >= 2", "jsonpath={.status.phase}=Done", "has(self.a) && self.b in [1, 2]"} {
		for given, want := range map[string]bool{text + "=90s": true, "Job:" + text + "=90s": true, "Deployment:" + text + "=90s": false} {
			l, err := timelimit.Parse([]string{given})
			if d, own := l.Condition(job, spec(text)); err != nil || own != want || own && d != 90*time.Second {
				t.Errorf("%s: %s, %t, %v", given, d, own, err)
			}
		}
	}
	for _, given := range []string{"", "Job", "Job=", "=5m", "Job=soon", "Job=-1m", "Job:condition==5m", "Job=5m,web", "raedy()=5m,"} {
		if l, err := timelimit.Parse([]string{given}); err == nil || !strings.Contains(err.Error(), "--timeout-for") {
			t.Errorf("%q is accepted: %+v, %v", given, l, err)
		}
	}
}
