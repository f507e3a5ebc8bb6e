package connection

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// A user's id for a run appears everywhere. Each process of the run has a unique name that begins
// with this id.
func TestRunID(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, test := range map[string]struct {
		args  []string
		env   string
		want  string // the run; empty for a fresh one
		fault string
	}{
		"none":                       {},
		"flag":                       {args: []string{"--run-id=job-42"}, want: "job-42"},
		"environment":                {env: "job_42.1", want: "job_42.1"},
		"both":                       {args: []string{"--run-id=mine"}, env: "theirs", want: "mine"},
		"longest":                    {args: []string{"--run-id=" + long}, want: long},
		"empty":                      {args: []string{"--run-id="}, fault: "--run-id is empty"},
		"too long":                   {args: []string{"--run-id=" + long + "a"}, fault: "at most 63"},
		"two lines":                  {args: []string{"--run-id=a\nb"}, fault: "at most 63"},
		"leading hyphen":             {env: "-x", fault: "KUBECTL_K8SCONNECT_RUN_ID="},
		"spaces":                     {env: "job 42", fault: "KUBECTL_K8SCONNECT_RUN_ID="},
		"empty environment variable": {env: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECTL_K8SCONNECT_RUN_ID", test.env)
			call := func() *Connection {
				c, flags := New(redact.NewVault()), pflag.NewFlagSet("", pflag.ContinueOnError)
				c.AddFlags(flags)
				if err := flags.Parse(test.args); err != nil {
					t.Fatal(err)
				}
				return c
			}
			one, two := call(), call()
			if err := one.Check(); (test.fault != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Fatalf("Check: %v", err)
			}
			if test.fault != "" {
				return
			}
			one.Run, two.Run = one.NewRun(), two.NewRun()
			if test.want != "" && one.Run != test.want || test.want == "" && one.Run == two.Run {
				t.Errorf("runs %q, %q", one.Run, two.Run)
			}
			if one.Call() == two.Call() || !strings.HasPrefix(one.Call(), one.Run) {
				t.Errorf("calls %q, %q", one.Call(), two.Call())
			}
		})
	}
}
