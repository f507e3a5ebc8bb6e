package docs_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
	"github.com/k8sconnect/kubectl-k8sconnect/test/docs"
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// Every command on every page runs and prints the output that the page shows: the most read pages
// in the first circle, all of them in make test-full and make docs. Pages that need the webhook
// come last.
func TestPages(t *testing.T) {
	c := site.Cluster(t)
	d := newDesk(t, c)
	var notRun []string
	var total docs.Count
	all := *update || os.Getenv("PAGE") != "" || circle.Of(false, true, true)
	most := []string{"README.md", "docs/apply.md", "docs/diff.md"}
	for _, webhook := range []bool{false, true} {
		for _, name := range pages(t) {
			if !all && !slices.Contains(most, name) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root(t), name))
			if err != nil {
				t.Fatal(err)
			}
			page, err := docs.Parse(name, string(text))
			if err != nil {
				t.Error(err)
				continue
			}
			if slices.Contains(page.Needs, "webhook") != webhook {
				continue
			}
			if webhook {
				d.install(t)
			}
			t.Run(filepath.Base(name), func(t *testing.T) {
				count := d.read(t, page, string(text))
				notRun = append(notRun, count.NotRun...)
				total.Commands += count.Commands
				total.Scripts += count.Scripts
				total.Files += count.Files
				total.Pictures += count.Pictures
			})
		}
	}
	if total.Commands == 0 && os.Getenv("PAGE") == "" {
		t.Error("no command was found on any page")
	}
	t.Logf("%d commands with their output, %d scripts, %d files, %d pictures; %d blocks not run:\n  %s",
		total.Commands, total.Scripts, total.Files, total.Pictures, len(notRun), strings.Join(notRun, "\n  "))
}

// desk is the environment of the pages: programs, a cluster, and a list of the objects that existed
// before.
type desk struct {
	cluster     *cluster.Cluster
	bin         string
	environment []string
	base        map[string]bool
	webhook     *companion.Companion
}

func newDesk(t *testing.T, c *cluster.Cluster) *desk {
	t.Helper()
	d := &desk{cluster: c, bin: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(d.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(self, "kubectl-k8sconnect")
	link(c.Binary("kubectl"), "kubectl")
	link(filepath.Join(root(t), "bin", "helm"), "helm")
	link(filepath.Join(root(t), "bin", "jq"), "jq")
	d.environment = []string{
		"PATH=" + d.bin + ":" + os.Getenv("PATH"), "REPO=" + root(t), "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
		reportjudge.Folder + "=" + os.Getenv(reportjudge.Folder),
	}
	for strings.Contains(d.kubectl(t, "get", "namespaces"), "Terminating") { // left over by other users of the cluster
		time.Sleep(200 * time.Millisecond)
	}
	d.base = d.objects(t)
	return d
}

// install installs the webhook, once.
func (d *desk) install(t *testing.T) {
	t.Helper()
	if d.webhook != nil {
		return
	}
	for len(d.left(t)) > 0 { // otherwise leftovers of the previous page would count as the cluster's own
		time.Sleep(200 * time.Millisecond)
	}
	var err error
	if d.webhook, err = companion.Install(t.Context(), d.cluster, companion.Options{Root: root(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.webhook.Close)
	if _, err := d.webhook.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.webhook.BePatient(t.Context()); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(d.kubectl(t, "get", "configmaps", "-n", companion.Namespace, "-l", "k8sconnect.io/tracker=true", "-o", "name"), "/") {
		time.Sleep(100 * time.Millisecond) // until it has started to watch and stored a checkpoint
	}
	d.base = d.objects(t)
}

// read runs a page, and removes its leftovers from the cluster.
func (d *desk) read(t *testing.T, page *docs.Page, text string) docs.Count {
	home := t.TempDir()
	dir := filepath.Join(home, "page")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(d.cluster.KubeconfigPath)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(home, "kubeconfig") // a page may change it
	if err := os.WriteFile(mine, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(page.Needs, "clusters") {
		d.more(t, mine)
	}
	d.free(t, text)
	t.Cleanup(func() { d.clear(t) })
	reader := docs.Reader{
		Dir:         dir,
		Home:        home,
		Environment: append(slices.Clone(d.environment), "HOME="+home, "KUBECONFIG="+mine),
		Update:      *update,
		Draw:        func(name string, lines [][]docs.Span) error { return draw(root(t), name, lines) },
	}
	count, faults, err := reader.Read(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root(t), page.Name), []byte(strings.Join(page.Lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return count
}

// more adds two clusters to a kubeconfig, with a name for each of the three.
func (d *desk) more(t *testing.T, kubeconfig string) {
	t.Helper()
	merged := api.NewConfig()
	for i, name := range []string{"fsn-1", "fsn-2", "hel-1"} {
		c := d.cluster
		if i > 0 {
			var err error
			if c, err = cluster.Start(t.Context(), cluster.Options{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Stop)
		}
		one, err := clientcmd.LoadFromFile(c.KubeconfigPath)
		if err != nil {
			t.Fatal(err)
		}
		current := one.Contexts[one.CurrentContext]
		merged.Clusters[name], merged.AuthInfos[name] = one.Clusters[current.Cluster], one.AuthInfos[current.AuthInfo]
		merged.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	merged.CurrentContext = "fsn-1"
	if err := clientcmd.WriteToFile(*merged, kubeconfig); err != nil {
		t.Fatal(err)
	}
}

// draw compares a picture with the existing one; with -update, it writes the picture.
func draw(root, name string, lines [][]docs.Span) error {
	for _, theme := range docs.Themes() {
		path := filepath.Join(root, "docs", "images", name+"-"+theme.Name+".svg")
		fresh := docs.SVG(name, lines, theme)
		old, err := os.ReadFile(path)
		if err == nil && slices.Equal(docs.Normal(docs.Words(string(old))), docs.Normal(docs.Words(fresh))) {
			continue
		}
		if !*update {
			return fmt.Errorf("the picture %s is stale or missing; it is now:\n    %s", path, strings.Join(docs.Plain(lines), "\n    "))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kubectl runs kubectl as the administrator.
func (d *desk) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(d.cluster.Binary("kubectl"), append(args, "--kubeconfig", d.cluster.KubeconfigPath)...)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// Kinds of objects that pages may leave: cluster-scoped, and in the namespace default.
const (
	clusterWide = "customresourcedefinitions,namespaces,clusterroles,clusterrolebindings,persistentvolumes,storageclasses,ingressclasses," +
		"priorityclasses,validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,validatingadmissionpolicies,validatingadmissionpolicybindings"
	inDefault = "deployments,statefulsets,daemonsets,jobs,cronjobs,replicasets,pods,services,configmaps,secrets,serviceaccounts,roles," +
		"rolebindings,horizontalpodautoscalers,poddisruptionbudgets,ingresses,networkpolicies,persistentvolumeclaims"
)

// objects lists the existing objects.
func (d *desk) objects(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for name := range strings.FieldsSeq(d.kubectl(t, "get", clusterWide, "-o", "name")) {
		all[name] = true
	}
	for name := range strings.FieldsSeq(d.kubectl(t, "get", inDefault, "-n", "default", "-o", "name")) {
		all["default "+name] = true
	}
	return all
}

// left lists the objects that did not exist before.
func (d *desk) left(t *testing.T) []string {
	t.Helper()
	all := d.objects(t)
	maps.DeleteFunc(all, func(name string, _ bool) bool { return d.base[name] })
	return slices.Sorted(maps.Keys(all))
}

// clear removes the objects that did not exist before.
func (d *desk) clear(t *testing.T) {
	t.Helper()
	var wide, narrow []string
	for _, name := range d.left(t) {
		if short, is := strings.CutPrefix(name, "default "); is {
			narrow = append(narrow, short)
		} else {
			wide = append(wide, name)
		}
	}
	common := []string{"--wait=false", "--ignore-not-found", "--now"}
	if len(narrow) > 0 {
		d.kubectl(t, append(append([]string{"delete", "-n", "default"}, common...), narrow...)...)
	}
	if len(wide) > 0 {
		d.kubectl(t, append(append([]string{"delete"}, common[:2]...), wide...)...)
	}
}

// free waits until no namespace that the page names is terminating.
func (d *desk) free(t *testing.T, text string) {
	t.Helper()
	const enough = 2 * time.Minute
	for deadline := time.Now().Add(enough); ; time.Sleep(200 * time.Millisecond) {
		var left []string
		for _, name := range d.left(t) {
			if _, short, _ := strings.Cut(name, "/"); strings.Contains(text, short) {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s, objects of an earlier page still exist: %q", enough, left)
		}
	}
}
