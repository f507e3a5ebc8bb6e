package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// call runs the plugin as its main function does, in a home directory without a kubeconfig.
func call(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	return callAs(t, "/usr/local/bin/kubectl-k8sconnect", args...)
}

func callAs(t *testing.T, program string, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	code = Main(t.Context(), append([]string{program}, args...), streams)
	return code, stdout.String(), stderr.String()
}

// noCluster changes to an empty folder, without any configuration of a cluster.
func noCluster(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"root":               {"--help"},
		"apply":              {"apply", "--help"},
		"diff":               {"help", "diff"},
		"delete":             {"delete", "--help"},
		"wait":               {"wait", "--help"},
		"stuck":              {"stuck", "--help"},
		"unready":            {"unready", "--help"},
		"deprecated":         {"deprecated", "--help"},
		"fights":             {"fights", "--help"},
		"releases":           {"releases", "--help"},
		"history":            {"history", "--help"},
		"owners":             {"owners", "--help"},
		"give":               {"give", "--help"},
		"config":             {"config"},
		"config-import":      {"config", "import", "--help"},
		"sets":               {"sets", "--help"},
		"sets-delete":        {"sets", "delete", "--help"},
		"version":            {"version", "-h"},
		"completion":         {"completion"},
		"completion-kubectl": {"completion", "kubectl", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := call(t, args...)
			if code != verb.ExitYes || stderr != "" {
				t.Errorf("exit status %d, stderr %q", code, stderr)
			}
			for line := range strings.Lines(out) {
				if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
					t.Errorf("wider than %d columns: %s", 80, line)
				}
			}
			if lines := strings.Count(out, "\n"); lines > 60 {
				t.Errorf("%d lines, which do not fit a screen", lines)
			}
			golden(t, "help-"+name, out)
		})
	}
}

// With --help-all, the help shows every flag of a verb, each in a group.
func TestHelpAll(t *testing.T) {
	r := newRoot(genericiooptions.NewTestIOStreamsDiscard(), nil)
	for _, verb := range []string{"apply", "diff", "delete", "wait", "stuck", "unready", "owners", "give", "deprecated", "fights", "releases", "history"} {
		code, out, stderr := call(t, verb, "--help-all")
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit status %d, stderr %q", verb, code, stderr)
		}
		golden(t, "help-all-"+verb, out)
		if strings.Contains(out, "\nOther:\n") {
			t.Errorf("%s has a flag that is in no group:\n%s", verb, out)
		}
		cmd, _, err := r.Find([]string{verb})
		if err != nil {
			t.Fatal(err)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && strings.Count(out, "--"+f.Name+"\n")+strings.Count(out, "--"+f.Name+" ")+strings.Count(out, "--"+f.Name+"[") == 0 {
				t.Errorf("%s: the help does not mention --%s", verb, f.Name)
			}
		})
	}
}

// golden compares a string with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, rewrite with -update):\n%s", path, diff)
	}
}

// A usage error is one line that refers to the help.
func TestUsageErrors(t *testing.T) {
	const help = "  hint: see: kubectl k8sconnect %s--help\n"
	const managerHint = "  hint: use a name such as --field-manager=team-shop; the default is k8sconnect\n"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"hidden receiver": {
			[]string{"give", "cm/app", ".data.a", "--to=***"},
			"error: --to=*** represents a hidden value: name a field manager\n" + strings.Replace(help, "%s", "give ", 1),
		},
		"allow-new outside of a move": {
			[]string{"give", "deploy/web", "--allow-new"},
			"error: --allow-new requires --to-release or --to-set\n" + strings.Replace(help, "%s", "give ", 1),
		},
		"allow-new for fields": {
			[]string{"give", "deploy/web", ".spec.replicas", "--from=a", "--to=b", "--allow-new"},
			"error: --allow-new requires --to-release or --to-set\n" + strings.Replace(help, "%s", "give ", 1),
		},
		"allow-new without a receiver": {
			[]string{"give", "deploy/web", "--from-release=shop/web", "--allow-new"},
			"error: --allow-new requires --to-release or --to-set\n" + strings.Replace(help, "%s", "give ", 1),
		},
		"allow-new for a receiver that must exist": {
			[]string{"give", "deploy/web", "--from-release=shop/web", "--to-inventory=ks/shop/apps", "--allow-new"},
			"error: --allow-new requires --to-release or --to-set\n" + strings.Replace(help, "%s", "give ", 1),
		},
		"verb": {
			[]string{"aply", "-f", "x.yaml"},
			"error: unknown command \"aply\" for \"kubectl k8sconnect\"\n  hint: did you mean apply?\n",
		},
		"verb unlike any other": {
			[]string{"scale"},
			"error: unknown command \"scale\" for \"kubectl k8sconnect\"\n  hint: see: kubectl k8sconnect --help\n",
		},
		"a verb of kubectl": {
			[]string{"get", "pods"},
			"error: unknown command \"get\" for \"kubectl k8sconnect\"\n" +
				"  hint: kubectl get and kubectl describe read objects; k8sconnect owners shows who owns their fields, and k8sconnect sets lists sets\n",
		},
		"a verb of Helm": {
			[]string{"rollback", "shop"},
			"error: unknown command \"rollback\" for \"kubectl k8sconnect\"\n" +
				"  hint: kubectl k8sconnect sets rollback NAME applies an earlier run of a set again; apply --atomic rolls back a run that fails\n",
		},
		"a subcommand that does not exist": {
			[]string{"sets", "history", "shop"},
			"error: sets has no subcommand \"history\"\n  hint: kubectl k8sconnect sets shop shows the members of the set, and its runs\n",
		},
		"a subcommand that is mistyped": {
			[]string{"sets", "rolback", "shop"},
			"error: sets has no subcommand \"rolback\"\n  hint: did you mean sets rollback?\n",
		},
		"a dry run of a verb that changes nothing": {
			[]string{"diff", "-f", "x.yaml", "--dry-run"},
			"error: unknown flag: --dry-run\n  hint: diff, owners, stuck and wait change nothing; kubectl k8sconnect diff shows what apply would change\n",
		},
		"charts in a kustomization": {
			[]string{"apply", "-k", "app", "--enable-helm"},
			"error: unknown flag: --enable-helm\n  hint: kubectl kustomize --enable-helm … DIR | kubectl k8sconnect apply -f -\n",
		},
		"a kustomization that leaves its folder": {
			[]string{"diff", "-k", "app", "--load-restrictor=LoadRestrictionsNone"},
			"error: unknown flag: --load-restrictor\n  hint: kubectl kustomize --load-restrictor … DIR | kubectl k8sconnect apply -f -\n",
		},
		"a flag for a setting of the config file": {
			[]string{"wait", "deploy/web", "--readiness=rules.yaml"},
			"error: unknown flag: --readiness\n  hint: set readiness: FILE in k8sconnect.yaml, which is next to the input or named with --config\n",
		},
		"a flag that -v replaces": {
			[]string{"apply", "-f", "x.yaml", "--explain-rules"},
			"error: unknown flag: --explain-rules\n  hint: -v 1 shows the flag, annotation or rule that decided each path\n",
		},
		"flag": {
			[]string{"diff", "--prune-everything"},
			"error: unknown flag: --prune-everything\n" + strings.ReplaceAll(help, "%s", "diff "),
		},
		"mistyped flag": {
			[]string{"apply", "--feild-manager=x", "-f", "x.yaml"},
			"error: unknown flag: --feild-manager\n  hint: did you mean --field-manager?\n",
		},
		"mistyped global flag": {
			[]string{"owners", "--contxt=x", "deploy/web"},
			"error: unknown flag: --contxt\n  hint: did you mean --context?\n",
		},
		"mistyped output": {
			[]string{"apply", "-f", "x.yaml", "-o", "table2"},
			"error: -o: unknown output format \"table2\": use table, json, yaml, kyaml, name, stream, junit, objects, objects=json, objects=kyaml, jsonpath=TEMPLATE, manifests or role\n  hint: did you mean -o table?\n",
		},
		"output of diff": {
			[]string{"diff", "-f", "x.yaml", "-o", "wide"},
			"error: -o: unknown output format \"wide\": use table, json, yaml, kyaml, name, stream, junit, markdown or patch\n" + strings.ReplaceAll(help, "%s", "diff "),
		},
		"mistyped output of version": {
			[]string{"version", "-o", "jsno"},
			"error: -o must be json, yaml or kyaml, not \"jsno\"\n  hint: did you mean -o json?\n",
		},
		"mistyped dry run": {
			[]string{"apply", "-f", "x.yaml", "--dry-run=sever"},
			"error: --dry-run must be none, server or client, not \"sever\"\n  hint: did you mean --dry-run=server?\n",
		},
		"flag of kubectl apply": {
			[]string{"apply", "--server-side", "-f", "x.yaml", "--force"},
			"error: unknown flag: --force\n  hint: --recreate=KIND[/NAME] deletes and recreates an object if a field cannot be changed; --take=all takes contested fields\n",
		},
		"flag of kubectl that takes all": {
			[]string{"diff", "--force-conflicts"},
			"error: unknown flag: --force-conflicts\n  hint: --take=all takes every contested field; --take=PATH takes one\n",
		},
		"flag instead of a verb": {
			[]string{"--version"},
			"error: unknown flag: --version\n  hint: see: kubectl k8sconnect version\n",
		},
		"flag without a value": {
			[]string{"apply", "-f"},
			"error: flag needs an argument: 'f' in -f\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"file without -f": {
			[]string{"apply", "web.yaml"},
			"error: unexpected argument \"web.yaml\": to name manifests, use -f or -k\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"nothing to read": {
			[]string{"diff"},
			"error: no input: use -f FILENAME or -k DIRECTORY\n" + strings.ReplaceAll(help, "%s", "diff "),
		},
		"output": {
			[]string{"apply", "-f", "x.yaml", "-o", "wide"},
			"error: -o: unknown output format \"wide\": use table, json, yaml, kyaml, name, stream, junit, objects, objects=json, objects=kyaml, jsonpath=TEMPLATE, manifests or role\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"output of version": {
			[]string{"version", "-o", "wide"},
			"error: -o must be json, yaml or kyaml, not \"wide\"\n" + strings.ReplaceAll(help, "%s", "version "),
		},
		"dry run": {
			[]string{"apply", "-f", "x.yaml", "--dry-run=true"},
			"error: --dry-run must be none, server or client, not \"true\"\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"dry run without a value": {
			[]string{"apply", "--dry-run", "-f", "x.yaml"},
			"warning: --dry-run without a value means --dry-run=client; use --dry-run=server to ask the server\nerror: x.yaml: no such file or directory\n",
		},
		"not server-side": {
			[]string{"apply", "-f", "x.yaml", "--server-side=false"},
			"error: --server-side=false is not supported; for a client-side apply, use kubectl apply\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"validate": {
			[]string{"diff", "-f", "x.yaml", "--validate=lax"},
			"error: --validate must be strict, warn or ignore, not \"lax\"\n" + strings.ReplaceAll(help, "%s", "diff "),
		},
		"colour": {
			[]string{"diff", "-f", "x.yaml", "--color=red"},
			"error: unknown colour mode \"red\": use auto, always or never\n" + strings.ReplaceAll(help, "%s", "diff "),
		},
		"invalid timeout": {
			[]string{"apply", "-f", "x.yaml", "--timeout=soon"},
			"error: invalid argument \"soon\" for \"--timeout\" flag: time: invalid duration \"soon\"\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"negative times are two errors and one hint": {
			[]string{"apply", "-f", "x.yaml", "--concurrency=-2", "--await-kinds=-1s"},
			"error: --concurrency must not be negative\nerror: --await-kinds must not be negative\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"concurrency": {
			[]string{"apply", "-f", "x.yaml", "--concurrency=-2"},
			"error: --concurrency must not be negative\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"history without a set": {
			[]string{"apply", "-f", "x", "--history=3"},
			"error: --history requires --apply-set: a run without a set has no history\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"manager": {
			[]string{"apply", "-f", "x.yaml", "--field-manager="},
			"error: --field-manager is empty\n" + managerHint,
		},
		"manager of blanks": {
			[]string{"diff", "-f", "x.yaml", "--field-manager= \t"},
			"error: --field-manager is empty\n" + managerHint,
		},
		"manager that is long": {
			[]string{"apply", "-f", "x.yaml", "--field-manager=" + strings.Repeat("ä", 65)},
			"error: --field-manager has 130 bytes, but the server accepts at most 128\n" + managerHint,
		},
		"manager with a line break": {
			[]string{"apply", "-f", "x.yaml", "--field-manager=a\nb"},
			"error: --field-manager is \"a\\nb\", but the server accepts only printable characters\n" + managerHint,
		},
		"owners with an empty manager": {
			[]string{"owners", "deploy/web", "--manager="},
			"error: --manager is empty\n" + strings.ReplaceAll(help, "%s", "owners "),
		},
		"yield without a path": {
			[]string{"apply", "-f", "x.yaml", "--yield=all"},
			"error: --yield: \"all\": a path or a manager is missing\n" + strings.ReplaceAll(help, "%s", "apply "),
		},
		"completion": {
			[]string{"completion", "tcsh"},
			"error: no completion for \"tcsh\"\n" + strings.ReplaceAll(help, "%s", "completion "),
		},
	} {
		t.Run(name, func(t *testing.T) {
			noCluster(t)
			code, out, stderr := call(t, test.args...)
			if code != verb.ExitUnknown || out != "" {
				t.Errorf("exit status %d, stdout %q", code, out)
			}
			if diff := cmp.Diff(test.want, stderr); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

const oneMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: app
`

const twoContexts = `apiVersion: v1
kind: Config
current-context: home
contexts:
- {name: home, context: {cluster: home, user: me, namespace: mine}}
- {name: work, context: {cluster: home, user: me}}
clusters:
- {name: home, cluster: {server: "https://127.0.0.1:1"}}
users:
- {name: me, user: {token: x}}
`

// --timeout has the same meaning for all verbs: a negative value is no limit, and 0 does not wait.
// For a verb that bounds the whole run, 0 is a mistake.
func TestTimeout(t *testing.T) {
	noCluster(t)
	for line, waits := range map[string]bool{
		"apply -f x.yaml": false, "diff -f x.yaml": false, "owners deploy/web": false, "owners -A": false, "stuck": false, "unready": false, "deprecated": false, "fights": false, "releases": false, "history deploy/web": false,
		"give deploy/web .spec --to=a": false, "sets": false, "sets delete web": false, "sets rollback web": false, "version": false,
		"wait deploy/web": true, "delete deploy/web": true,
	} {
		for given, refused := range map[string]bool{"--timeout=0": !waits, "--timeout=-1s": false, "--timeout=1m": false} {
			status, _, stderr := call(t, append(strings.Fields(line), given)...)
			if message := strings.Contains(stderr, "error: --timeout=0 leaves no time for the run\n  hint: leave it out for no limit"); message != refused || message && status != 2 {
				t.Errorf("%s %s: exit status %d\n%s", line, given, status, stderr)
			}
			if !refused && strings.Contains(stderr, "--timeout") {
				t.Errorf("%s %s:\n%s", line, given, stderr)
			}
		}
	}
}

// An error in the kubeconfig is reported before any request, with the available choices.
func TestKubeconfigErrors(t *testing.T) {
	for name, test := range map[string]struct {
		kubeconfig string
		args       []string
		want       string
	}{
		"no kubeconfig": {
			"", nil,
			"error: no cluster is configured: no kubeconfig found\n" +
				"  hint: set one with --kubeconfig or KUBECONFIG; searched: nowhere\n",
		},
		"a file that is not there": {
			"",
			[]string{"--kubeconfig", "absent"},
			"error: kubeconfig: stat absent: no such file or directory\n",
		},
		"context": {
			twoContexts,
			[]string{"--context", "elsewhere"},
			"error: kubeconfig: context \"elsewhere\" does not exist\n  hint: --context can be: home, work\n",
		},
		"cluster": {
			twoContexts,
			[]string{"--cluster", "elsewhere"},
			"error: kubeconfig: cluster \"elsewhere\" does not exist\n  hint: --cluster can be: home\n",
		},
		"user": {
			twoContexts,
			[]string{"--user", "you"},
			"error: kubeconfig: auth info \"you\" does not exist\n  hint: --user can be: me\n",
		},
		"kubeconfig in base64": {
			base64.StdEncoding.EncodeToString([]byte(twoContexts)), nil,
			"error: kubeconfig: nowhere is base64\n  hint: decode it first: base64 -d nowhere > kubeconfig\n",
		},
		"invalid YAML in the kubeconfig": {
			"{", nil,
			"error: kubeconfig: error loading config file \"nowhere\": yaml: line 1: did not find expected node content\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			noCluster(t)
			t.Setenv("KUBECONFIG", "nowhere")
			write(t, "map.yaml", oneMap)
			if test.kubeconfig != "" {
				write(t, "nowhere", test.kubeconfig)
			}
			code, out, stderr := call(t, append([]string{"apply", "-f", "map.yaml"}, test.args...)...)
			if code != verb.ExitUnknown || out != "" {
				t.Errorf("exit status %d, stdout %q", code, out)
			}
			if diff := cmp.Diff(test.want, stderr); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An interrupted run reports that, not an error of the server.
func TestInterrupted(t *testing.T) {
	noCluster(t)
	write(t, "kubeconfig", twoContexts)
	write(t, "map.yaml", oneMap)
	t.Setenv("KUBECONFIG", "kubeconfig")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &stderr}
	code := Main(ctx, []string{"kubectl-k8sconnect", "apply", "-f", "map.yaml"}, streams)
	if code != verb.ExitUnknown || !strings.HasPrefix(stderr.String(), "error: interrupted") {
		t.Errorf("exit status %d, stderr %q", code, &stderr)
	}
}

// Text in a manifest cannot control the terminal, including in errors about the input.
func TestInputErrorsAreEscaped(t *testing.T) {
	noCluster(t)
	const text = "apiVersion: v1\nkind: \"Con\\e[31m\\nfig\"\nmetadata: {}\n"
	if err := os.WriteFile("a.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := call(t, "apply", "-f", "a.yaml", "--dry-run=client")
	if code != verb.ExitUnknown || out != "" || !strings.Contains(stderr, `Con\x1b[31m`) || strings.Contains(stderr, "\x1b") {
		t.Errorf("exit status %d, stdout %q, stderr %q", code, out, stderr)
	}
}
