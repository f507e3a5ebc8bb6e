package exclusive_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	yamltext "sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// After diff --exclusive -o patch and the real git apply, diff --exclusive shows no change, the files have the
// live values, and each line that the patch does not change is as before. SEED and PATCHES choose the objects.
func TestPatches(t *testing.T) {
	c := shared.Cluster(t)
	a := newAPI(t, c)
	defineWidgets(t, a)
	samples := documents(t, samples)
	seed, many := number(t, "SEED", 1), number(t, "PATCHES", circle.Of(60, 300, 1000))
	var sum patched
	for batch := 0; sum.objects < many; batch++ {
		p := &patching{t: t, c: c, a: a, r: rand.New(rand.NewPCG(uint64(seed), uint64(batch))), name: fmt.Sprintf("patch-%d-%d", seed, batch), dir: t.TempDir()}
		p.run(samples)
		sum.objects, sum.changed, sum.texts, sum.left = sum.objects+p.objects, sum.changed+p.changed, sum.texts+p.texts, sum.left+p.left
		if t.Failed() {
			return
		}
	}
	t.Logf("%d objects, %d of them changed by others, %d texts; %d changes were left out, each with a reason and a place", sum.objects, sum.changed, sum.texts, sum.left)
	if sum.changed < sum.objects/2 || sum.texts < sum.objects/10 || sum.left > sum.changed/4 {
		t.Errorf("%+v", sum)
	}
}

type patched struct{ objects, changed, texts, left int }

type patching struct {
	patched
	t         *testing.T
	c         *cluster.Cluster
	a         *api
	r         *rand.Rand
	name, dir string
	all       []*history
	// excused are the objects of which a change is left out.
	excused map[string]bool
}

func (p *patching) run(samples []map[string]any) {
	t := p.t
	if err := p.c.CreateNamespace(t.Context(), p.name); err != nil {
		t.Fatal(err)
	}
	defer p.c.DeleteNamespace(p.name)
	const together = 60
	for i := range together {
		h := &history{name: fmt.Sprint("h", i)}
		h.base = p.random(samples)
		h.want = named(h.base, p.name, h.name)
		if _, err := p.a.do(t, http.MethodPatch, at(h.want, p.name, h.name), asApply, us, h.want); err == nil {
			p.all = append(p.all, h)
		}
	}
	p.objects = len(p.all)
	p.git("init", "-q", ".")
	files := p.write()
	p.git("add", ".")
	p.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "manifests")
	for _, h := range p.all {
		p.change(h)
	}
	patch, notes := p.patch()
	p.notes(notes, files)
	if err := os.WriteFile(filepath.Join(p.dir, ".git", "patch"), []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	p.git("apply", filepath.Join(".git", "patch"))
	j := &judge{t: t, c: p.c, a: p.a, batch: p.name}
	after := j.plugin("diff", "-f", p.dir, "--exclusive", "-R", "-o", "json")
	for _, h := range p.all {
		switch r := after[h.name]; {
		case p.excused[h.name]:
		case r.Action == "" || r.Error != nil || len(r.Changes) > 0:
			t.Errorf("%s/%s after the patch: %s\n  %s\n%s", p.name, h.name, indented(r), strings.Join(h.steps, "\n  "), p.fileOf(h, files))
		}
	}
	p.lines(files)
}

func (p *patching) fileOf(h *history, files map[string]string) string {
	for name, before := range files {
		if strings.Contains(before, h.name) {
			now, _ := os.ReadFile(filepath.Join(p.dir, name))
			return fmt.Sprintf("%q\n%s", before, now)
		}
	}
	return ""
}

// write writes the objects into files, and returns their content by name.
func (p *patching) write() map[string]string {
	files := map[string]string{}
	names := []string{"%d.yaml", "a b/%d c.yaml", "über/%d.yml", "deep/er/%d.yaml"}
	for rest, i := p.all, 0; len(rest) > 0; i++ {
		n := min(1+p.r.IntN(4), len(rest))
		var objects []map[string]any
		for _, h := range rest[:n] {
			objects = append(objects, h.want)
		}
		rest = rest[n:]
		content := written(p.t, p.r, objects)
		name := fmt.Sprintf(names[p.r.IntN(len(names))], i)
		if strings.HasPrefix(content, "{") {
			name = fmt.Sprintf("%d.json", i)
		}
		files[name] = content
		full := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	return files
}

func (p *patching) git(args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		patch, _ := os.ReadFile(filepath.Join(p.dir, ".git", "patch"))
		p.t.Fatalf("git %s: %v\n%s\n%s", args, err, out, patch)
	}
}

func (p *patching) patch() (patch, notes string) {
	var out, errOut bytes.Buffer
	cli.Main(p.t.Context(), []string{"kubectl-k8sconnect", "diff", "-f", p.dir, "-R", "--exclusive", "-o", "patch", "--kubeconfig", p.c.KubeconfigPath},
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	return out.String(), errOut.String()
}

var leftOut = regexp.MustCompile(`(?m)^(\S.*?):(\d+): [a-z.]+/(h\d+) -n \S+: (\S+): not in the patch: (.*)$`)

// notes judges the changes that the patch leaves out: each has a place in the object's file, and a reason that
// docs/diff.md names.
func (p *patching) notes(notes string, files map[string]string) {
	p.excused = map[string]bool{}
	for _, m := range leftOut.FindAllStringSubmatch(notes, -1) {
		p.left++
		p.excused[m[3]] = true
		name, err := filepath.Rel(p.dir, m[1])
		if err != nil {
			p.t.Fatal(err)
		}
		line, _ := strconv.Atoi(m[2])
		if content := files[name]; !strings.Contains(content, m[3]) || line > strings.Count(content, "\n")+1 {
			p.t.Errorf("%s: no such place", m[0])
		}
		// A new field ends the last line, which changes a text that ends there.
		if m[5] == "the text has a form that can only be edited by hand" && !strings.HasSuffix(files[name], "\n") {
			continue
		}
		if !slices.Contains([]string{"a patch contains no values of Secrets", "edit it by hand", "the live object lacks it"}, m[5]) {
			p.t.Errorf("%s: the reason is unknown:\n%q", m[0], files[name])
		}
	}
	if more := strings.Count(notes, "not in the patch"); more != p.left {
		p.t.Errorf("%d notes have another form:\n%s", more-p.left, notes)
	}
}

// lines judges that the patch keeps all comments and the ends of lines.
func (p *patching) lines(files map[string]string) {
	comment := regexp.MustCompile(`# comment \d+`)
	for name, before := range files {
		content, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			p.t.Fatal(err)
		}
		now := string(content)
		had, has := comment.FindAllString(before, -1), comment.FindAllString(now, -1)
		if !slices.Equal(had, has) {
			p.t.Errorf("%s: comments %s became %s:\n%s\n%s", name, had, has, before, now)
		}
		if strings.Contains(before, "\r\n") && strings.Count(now, "\r\n") != strings.Count(now, "\n") {
			p.t.Errorf("%s: mixed ends of lines:\n%q", name, now)
		}
		for _, h := range p.all {
			if h.want["kind"] != "ConfigMap" || p.excused[h.name] || !strings.Contains(before, h.name+"\n") {
				continue
			}
			o, err := p.a.do(p.t, http.MethodGet, at(h.want, p.name, h.name), "", "", nil)
			if err != nil {
				p.t.Fatal(err)
			}
			docs := strings.Split("\n"+strings.ReplaceAll(now, "\r\n", "\n"), "\n---\n")
			for i, doc := range docs {
				if i < len(docs)-1 {
					doc += "\n"
				}
				var m map[string]any
				if yamltext.Unmarshal([]byte(doc), &m) == nil && m != nil && m["metadata"].(map[string]any)["name"] == h.name {
					if text(m["data"]) != text(o["data"]) {
						p.t.Errorf("%s: the file has %s, the object %s", h.name, text(m["data"]), text(o["data"]))
					}
				}
			}
		}
	}
}

// change lets people and tools write to an object, as often as they like.
func (p *patching) change(h *history) {
	before := len(h.steps)
	ok := 0
	step := func(what, manager string, err error) {
		if h.step(what, manager, err); err == nil {
			ok++
		}
	}
	for range p.r.IntN(4) {
		m := managers[p.r.IntN(len(managers)-1)] // not a controller of Kubernetes
		if m.name == "kubectl-client-side-apply" && isBare(h.base) {
			continue // We own nothing yet, so our apply takes over from kubectl apply.
		}
		part := addition(p.r, h.base)
		step(text(part), m.name, m.way(h, p.t, p.a, p.r, m.name, p.name, part))
	}
	if data, _ := h.base["data"].(map[string]any); h.base["kind"] == "ConfigMap" && p.r.IntN(3) > 0 {
		for _, key := range append(sorted(data), "added.conf") {
			if p.r.IntN(2) > 0 {
				continue
			}
			old, _ := data[key].(string)
			part := in(object{key: edited(p.r, old)}, "data")
			step(text(part), "kubectl-edit", h.patch(p.t, p.a, p.r, "kubectl-edit", p.name, part))
			p.texts++
		}
	}
	if ok > 0 && len(h.steps) > before {
		p.changed++
	}
}

var textLines = []string{
	"server {", "  listen 80;", "\tindex index.html;", "}", "", "", "# a comment", "key: value", "- item", "tail  ", " ", "--- x", "%{x}", "{{ .Values.a }}",
	"'", "\"quoted\" \\ back", "é 😀 ü", "one long line of many words that a person would break in a file of this kind, but never does it in practice",
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(9) {
		b.WriteString(textLines[r.IntN(len(textLines))] + "\n")
	}
	switch r.IntN(5) {
	case 0:
		return strings.TrimRight(b.String(), "\n")
	case 1:
		return b.String() + strings.Repeat("\n", r.IntN(3))
	}
	return b.String()
}

// edited returns a text after a person's edit: some lines differ.
func edited(r *rand.Rand, old string) string {
	if old == "" || r.IntN(4) == 0 {
		return randomText(r)
	}
	lines := strings.SplitAfter(old, "\n")
	i := r.IntN(len(lines))
	switch r.IntN(4) {
	case 0:
		lines = slices.Delete(lines, i, i+1)
	case 1:
		lines = slices.Insert(lines, i, textLines[r.IntN(len(textLines))]+"\n")
	case 2:
		lines[i] = strings.TrimRight(lines[i], "\n") + " # hotfix\n"
	default:
		return strings.ReplaceAll(old, "\n", "\r\n")
	}
	return strings.Join(lines, "")
}

// random returns a manifest in the shapes of real ones.
func (p *patching) random(samples []map[string]any) map[string]any {
	r := p.r
	switch r.IntN(5) {
	case 0, 1:
		data := object{}
		for i := range 1 + r.IntN(4) {
			data[[]string{"nginx.conf", "LOG_LEVEL", "app.properties", "run.sh"}[i]] = []string{randomText(r), "info", "yes", randomText(r), "0644"}[r.IntN(5)]
		}
		return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c", "labels": object{"app": "c"}}, "data": data}
	case 2:
		return object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "d", "labels": object{"app.kubernetes.io/name": "d"}},
			"spec": object{"replicas": 0, "selector": object{"matchLabels": object{"app": "d"}}, "template": object{"metadata": object{"labels": object{"app": "d"}}, "spec": p.pod()}},
		}
	}
	return clone(samples[r.IntN(len(samples))])
}

func (p *patching) pod() map[string]any {
	r := p.r
	spec := object{}
	var containers, volumes []any
	for i := range 1 + r.IntN(3) {
		c := object{"name": []string{"app", "proxy", "log"}[i], "image": "registry.example/x:" + strconv.Itoa(r.IntN(9))}
		var env, mounts, args []any
		for n := range r.IntN(6) {
			env = append(env, []any{
				object{"name": fmt.Sprint("E", n), "value": []string{"1", "yes", "http://$(HOST)/", "a\nb\n", ""}[r.IntN(5)]},
				object{"name": fmt.Sprint("E", n), "valueFrom": object{"configMapKeyRef": object{"name": "c", "key": "k"}}},
			}[r.IntN(2)])
		}
		for range r.IntN(4) {
			args = append(args, []any{"-v", "--a=b", "set -e\nexec true\n"}[r.IntN(3)])
		}
		for name, v := range map[string][]any{"env": env, "args": args} {
			if len(v) > 0 {
				c[name] = v
			}
		}
		if r.IntN(2) == 0 {
			mounts = append(mounts, object{"name": "data", "mountPath": "/data"})
			c["volumeMounts"] = mounts
			volumes = []any{object{"name": "data", "emptyDir": object{}}}
		}
		if r.IntN(2) == 0 {
			c["resources"] = object{"limits": object{"memory": "1Gi"}, "requests": object{"cpu": "100m"}}
		}
		if r.IntN(2) == 0 {
			c["ports"] = []any{object{"containerPort": 80 + i, "name": "http" + strconv.Itoa(i)}}
		}
		containers = append(containers, c)
	}
	spec["containers"] = containers
	if len(volumes) > 0 {
		spec["volumes"] = volumes
	}
	return spec
}
