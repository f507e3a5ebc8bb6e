package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// The server's audit log shows the program, its version and the verb, for every request of every
// verb.
func TestUserAgent(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, e2etest.ConfigMaps(8, 1, "1"))
	for i, call := range [][]string{
		{"apply", "-f", set, "--wait"},
		{"diff", "-f", set},
		{"owners", "cm/cm-0000"},
		{"wait", "cm/cm-0000", "--for=create"},
		{"stuck", "cm/cm-0000"},
		{"delete", "-f", set},
		{"version"},
		{"__complete", "wait", ""},
		{"__complete", "apply", "-n", ""},
	} {
		verb, args := call[0], call
		if verb == "__complete" {
			verb = "completion"
		} else {
			args = append(args, "-n", ns)
		}
		agent := regexp.MustCompile(`^kubectl-k8sconnect/[^ ()]+ \([a-z0-9]+/[a-z0-9]+\) ` + verb + `$`)
		// The impersonated user identifies this run's requests.
		user := fmt.Sprintf("agent-%s-%d", ns, i)
		e2etest.Kubectl(t, c, "create", "clusterrolebinding", user, "--clusterrole=cluster-admin", "--user="+user)
		at := len(args)
		if verb == "completion" {
			at = 2 // the last word is completed
		}
		e2etest.Plugin(t, c.KubeconfigPath, slices.Insert(slices.Clone(args), at, "--as="+user)...).Ends(t, 0)
		e2etest.Until(t, "the audit log has it", func() bool {
			events, err := c.AuditEvents()
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for _, e := range events {
				if e.ImpersonatedUser.Username != user {
					continue
				}
				seen++
				if !agent.MatchString(e.UserAgent) {
					t.Errorf("%s: %s %s has the User-Agent %q", verb, e.Verb, e.RequestURI, e.UserAgent)
				}
			}
			return seen > 0
		})
		e2etest.Kubectl(t, c, "delete", "clusterrolebinding", user)
	}
}
