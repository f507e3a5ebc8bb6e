package await

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

func item(group, kind, namespace, name string, short ...string) plan.Item {
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	return plan.Item{
		Ref:  object.Ref{GVK: gvk, Namespace: namespace, Name: name},
		Kind: object.Kind{GVK: gvk, Resource: strings.ToLower(kind) + "s", Namespaced: true, ShortNames: short},
	}
}

func TestWaitFor(t *testing.T) {
	web, other := item("apps", "Deployment", "shop", "web", "deploy"), item("apps", "Deployment", "prod", "other", "deploy")
	service := item("", "Service", "shop", "web", "svc")
	for text, want := range map[string][]plan.Item{
		"Deployment/web:create":                         {web},
		"deploy:create":                                 {web, other},
		"deployments.apps:create":                       {web, other},
		"deployment.apps/prod/other:create":             {other},
		"svc/web:has(self.spec) ? self.x == 'a:b' : no": {service},
		"Pod:create":                                    {},
	} {
		t.Run(text, func(t *testing.T) {
			own, err := parseOwnGoal(text)
			if err != nil {
				t.Fatal(err)
			}
			var got []plan.Item
			for _, it := range []plan.Item{web, other, service} {
				if own.names(it) {
					got = append(got, it)
				}
			}
			if len(got) != len(want) {
				t.Fatalf("names %v, want %v", got, want)
			}
			for i := range got {
				if got[i].Ref != want[i].Ref {
					t.Errorf("names %v, want %v", got[i].Ref, want[i].Ref)
				}
			}
		})
	}
	for _, text := range []string{"create", "Deployment/web", "Deployment/web:", "/web:create", "Deployment/a/b/c:create"} {
		if _, err := parseOwnGoal(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// An object's own goal replaces readiness. Several goals for one object are combined.
func TestGoalOf(t *testing.T) {
	flags := Flags{HangFlags: HangFlags{stuckAfter: time.Second}, wait: true, waitFor: []string{"deploy/web:create", "Deployment:condition=Available"}}
	a, err := flags.ToAwaited(pflag.NewFlagSet("", pflag.ContinueOnError), false)
	if err != nil {
		t.Fatal(err)
	}
	text := func(it plan.Item) string {
		var all []string
		for _, s := range a.goalOf(it).For {
			all = append(all, s.Text)
		}
		return strings.Join(all, " ")
	}
	if got := text(item("apps", "Deployment", "shop", "web", "deploy")); got != "create condition=Available" {
		t.Errorf("web: %s", got)
	}
	if got := text(item("", "Service", "shop", "web")); got != "ready" {
		t.Errorf("service: %s", got)
	}
	a.ready = nil
	if a.goalOf(item("", "Service", "shop", "web")) != nil {
		t.Error("waits although no wait was requested")
	}
}

// By default, no cause ends a wait that a user watches, and a run without a user ends for the
// causes that do not pass on their own. If the flag is given, it alone decides.
func TestFailOnCause(t *testing.T) {
	const lasts, passes = "SecretMissing", "QuotaExceeded"
	for line, want := range map[string]struct {
		unattended    bool
		lasts, passes bool
		fault         string
	}{
		"":                                {},
		" ":                               {unattended: true, lasts: true},
		"--fail-on-cause":                 {lasts: true},
		"--fail-on-cause ":                {unattended: true, lasts: true},
		"--fail-on-cause=":                {unattended: true},
		"--fail-on-cause=" + passes:       {unattended: true, passes: true},
		"--fail-on-cause=SecretMissing":   {lasts: true},
		"--fail-on-cause=usual," + passes: {lasts: true, passes: true},
		"--fail-on-cause=SecretMising":    {fault: `unknown cause "SecretMising"`},
		"--stuck-after=0s":                {fault: "--stuck-after must be more than 0"},
		"--logs=-1":                       {fault: "--logs must not be negative"},
	} {
		var flags HangFlags
		cmd := &cobra.Command{Use: "wait"}
		flags.Add(cmd, "", unready.Lastings())
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(line, err)
		}
		h, err := flags.ToHanging(cmd.Flags(), want.unattended)
		if want.fault != "" {
			if err == nil || !strings.Contains(err.Error(), want.fault) {
				t.Errorf("%s: %v, want %q", line, err, want.fault)
			}
			continue
		}
		ends := func(code string) bool { return h.endsFor != nil && h.endsFor(event.Cause{Code: code}) > 0 }
		if err != nil || ends(lasts) != want.lasts || ends(passes) != want.passes {
			t.Errorf("%q, unattended %t: ends for %s %t, for %s %t, %v", line, want.unattended, lasts, ends(lasts), passes, ends(passes), err)
		}
	}
}
