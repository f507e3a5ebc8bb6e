package confirm_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

const choice = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, NOTES}, data: {k: "VALUE", t: "ours"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {only: b}}, data: {k: "VALUE"}}
`

// A plan holds only for a run that makes the same choices. A run that lacks a flag, a rule or an annotation of
// the diff, or has one more, writes nothing, whenever that changes the result. With the same choices it
// applies the plan.
func TestConfirmBindsChoices(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	const hotfix = `patch configmap a --field-manager=hotfix -p {"data":{"t":"theirs"}}`
	all := map[string]struct {
		// first are the flags of a first apply, and kubectl what others write after it.
		first, kubectl []string
		flags          []string
		// notes are in the manifest, config in a file that --config names, and more in the input.
		notes, config, more string
	}{
		"--take":                {kubectl: []string{hotfix}, flags: []string{"--take=configmap/a:.data.t"}},
		"--yield":               {kubectl: []string{hotfix}, flags: []string{"--yield=configmap/a:.data.t"}},
		"the annotation":        {kubectl: []string{hotfix}, notes: `annotations: {k8sconnect.io/yield: ".data.t"}`},
		"a rule":                {kubectl: []string{hotfix}, config: "yield: [{kind: ConfigMap, path: .data.t}]"},
		"a rule to take":        {kubectl: []string{hotfix}, config: "take: [{kind: ConfigMap, path: .data.t}]"},
		"--exclusive":           {kubectl: []string{"label configmap a team=shop"}, flags: []string{"--exclusive"}},
		"an exclusive rule":     {kubectl: []string{"label configmap a team=shop"}, config: `exclusive: [{manager: "kubectl*"}]`},
		"--adopt-from":          {kubectl: []string{`patch configmap a --field-manager=helm -p {"data":{"x":"1"}}`}, flags: []string{"--adopt-from=helm"}},
		"--field-manager":       {flags: []string{"--field-manager=other", "--take=all"}},
		"--recreate":            {flags: []string{"--recreate=configmap/r"}, more: "---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: r}, immutable: true, data: {k: "VALUE"}}`},
		"a recreate annotation": {notes: "annotations: {k8sconnect.io/recreate: immutable}"},
		"--apply-set":           {flags: []string{"--apply-set=shop"}},
		"--prune":               {first: []string{"--apply-set=shop"}, flags: []string{"--apply-set=shop", "--prune"}},
		"--leave-set":           {first: []string{"--apply-set=shop"}, flags: []string{"--leave-set"}},
		"-l":                    {flags: []string{"-l=only=b"}},
		"--helm-hooks":          {flags: []string{"--helm-hooks=apply"}, more: "---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: h, annotations: {helm.sh/hook: post-install}}, data: {k: "VALUE"}}`},
		"--config":              {config: "fieldManager: another\ntake: [{kind: ConfigMap, path: .data}, {kind: ConfigMap, path: .metadata}]"},
	}
	random := e2etest.Randomly(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tt, only := all[name], random.IntN(3)
		for i, mode := range []string{"in both", "only in diff", "only in apply"} {
			if circle.Of(i != only, false, false) {
				continue
			}
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				ns := e2etest.Namespace(t, c)
				config := e2etest.File(t, tt.config)
				input := func(value string, has bool) string {
					text := strings.ReplaceAll(choice+tt.more, "VALUE", value)
					notes := ""
					if has {
						notes = tt.notes
					}
					return e2etest.File(t, strings.Replace(text, "NOTES", notes, 1))
				}
				args := func(has bool) []string {
					out := []string{"-n", ns, "-f", input("2", has)}
					if has && tt.config != "" {
						out = append(out, "--config="+config)
					}
					if has {
						out = append(out, tt.flags...)
					}
					return out
				}
				first := append([]string{"apply", "-n", ns, "-f", input("1", false), "--helm-hooks=skip"}, tt.first...)
				e2etest.Plugin(t, c.KubeconfigPath, first...).Ends(t, 0)
				if name == "--prune" {
					left := e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: left}}`)
					e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", left, "--apply-set=shop").Ends(t, 0)
				}
				for _, call := range tt.kubectl {
					e2etest.Kubectl(t, c, append(strings.Fields(call), "-n", ns)...)
				}
				inDiff, inApply := mode != "only in apply", mode != "only in diff"
				diff := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"diff", "-o", "json"}, args(inDiff)...)...)
				var document struct{ Digest string }
				if err := json.Unmarshal(diff.Stdout.Bytes(), &document); err != nil {
					t.Fatal(err)
				}
				plan := e2etest.File(t, diff.Stdout.String())
				was := stateOf(t, c, ns)
				confirm := append([]string{"apply", "--confirm=" + plan}, args(inApply)...)
				r := e2etest.Plugin(t, c.KubeconfigPath, confirm...)
				if mode != "in both" {
					if code := r.Cmd.ProcessState.ExitCode(); code != 1 && (code != 2 || document.Digest != "" && name != "--recreate") {
						t.Errorf("exit status %d, digest %q: %s", code, document.Digest, r)
					}
					if now := stateOf(t, c, ns); now != was || !strings.Contains(r.Stderr.String(), "error: ") {
						t.Errorf("the refused run has written:\n%s\nwas\n%s\n%s", now, was, r)
					}
					return
				}
				r.Ends(t, 0)
				e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
				e2etest.Plugin(t, c.KubeconfigPath, append([]string{"diff"}, args(true)...)...).Ends(t, 0)
			})
		}
	}
}

// stateOf identifies the state of all ConfigMaps of a namespace.
func stateOf(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	return e2etest.Kubectl(t, c, "get", "configmaps", "-n", ns, "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
}

// The form of the input is no part of a plan: order, spelling, comments, stdin, a List, and the same object
// twice. The run that confirms it can use another context of the cluster.
func TestConfirmOtherForms(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	reversed := func(text string) string {
		documents := strings.Split(text, "---\n")
		slices.Reverse(documents)
		return strings.Join(documents, "\n---\n")
	}
	asJSON := func(text string) string {
		var items []json.RawMessage
		for document := range strings.SplitSeq(text, "---\n") {
			item, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, item)
		}
		list, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		return string(list)
	}
	for name, form := range map[string]func(string) string{
		"reversed": reversed,
		"a List":   asJSON,
		"doubled":  func(text string) string { return text + "---\n" + text },
		"CRLF":     func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"comments": func(text string) string {
			return "# rendered\n" + strings.ReplaceAll(text, "---\n", "---\n# Source: a.yaml\n") + "\n---\n# empty\n"
		},
		"with a BOM": func(text string) string { return "\ufeff" + text },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, proxied := e2etest.Proxied(t, c)
			ns := e2etest.Namespace(t, c)
			text := strings.NewReplacer("NOTES", "", "VALUE", "1").Replace(choice) + "---\n" + `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: secret-1}}` + "\n"
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, text)).Ends(t, 0)
			after := strings.NewReplacer(`"1"`, `"2"`, "secret-1", "secret-2").Replace(text)
			plan := e2etest.Confirmable(t, c, "-n", ns, "-f", e2etest.File(t, after))
			run := func(kubeconfig string) (string, error) {
				cmd := exec.CommandContext(t.Context(), "kubectl-k8sconnect", "apply", "-n", ns, "-f", "-", "--confirm="+plan, "--kubeconfig="+kubeconfig)
				cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir())
				cmd.Stdin = strings.NewReader(form(after))
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				err := cmd.Run()
				return out.String(), err
			}
			if out, err := run(proxied); err != nil || !strings.Contains(out, "3 configured") {
				t.Fatalf("%v: %s", err, out)
			}
			if out, err := run(c.KubeconfigPath); err != nil || !strings.Contains(out, "nothing is left to do") {
				t.Fatalf("%v: %s", err, out)
			}
		})
	}
}
