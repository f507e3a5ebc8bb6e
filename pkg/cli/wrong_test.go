package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// newWrong returns an API server that answers every read of objects with the given text. If later
// is set, it does so only after the first write.
func newWrong(t *testing.T, text string, later bool) {
	t.Helper()
	s := newAway(t, "away.k8s.io")
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, name, object := strings.Cut(r.URL.Path, "/namespaces/default/configmaps/")
		switch {
		case r.Method == http.MethodPatch && object:
			if !r.URL.Query().Has("dryRun") {
				s.goAway()
			}
			_, _ = w.Write([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"default","uid":"u","resourceVersion":"2"}}`))
		case strings.Contains(r.URL.Path, "/namespaces/") && (!later || s.gone.Load()):
			_, _ = w.Write([]byte(text))
		default:
			s.ServeHTTP(w, r)
		}
	})
	write(t, "map.yaml", oneMap)
}

// If the server keeps answering reads with something other than objects, each verb that waits ends,
// reports the result as unknown, and quotes the answer. TestPersistentWrongAnswers of pkg/client tests more
// answers and the time that this takes.
func TestVerbsEndOnPersistentWrongAnswers(t *testing.T) {
	const wrong = "unexpected answer"
	for _, test := range []struct {
		args, text string
		later      bool
	}{
		{args: "delete -f set.yaml", text: `{}`},
		{args: "delete -f set.yaml", text: `[]`},
		{args: "delete configmap x", text: `{}`},
		{args: "delete configmap -l a=b", text: `{}`},
		{args: "delete configmap --all", text: `null`},
		{args: "wait -f set.yaml --for=delete", text: `{}`},
		{args: "wait configmap/x --for=create", text: `{}`},
		{args: "wait configmap -l a=b --for=delete", text: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`},
		{args: "stuck configmap/x", text: `{}`},
		{args: "stuck configmap -l a=b", text: `{}`},
		{args: "apply -f map.yaml --wait", text: `{}`, later: true},
	} {
		t.Run(test.args+"/"+test.text, func(t *testing.T) {
			newWrong(t, test.text, test.later)
			args := append(strings.Split(test.args, " "), "-n", "default", "--server-timeout=300ms")
			if !strings.HasPrefix(test.args, "stuck") {
				args = append(args, "--timeout=1s")
			}
			const hangs = time.Minute // and would for five
			ctx, cancel := context.WithTimeout(t.Context(), hangs)
			defer cancel()
			var all strings.Builder
			code := Main(ctx, append([]string{"kubectl-k8sconnect"}, args...), genericiooptions.IOStreams{
				In: strings.NewReader(""), Out: io.Writer(&all), ErrOut: &all,
			})
			if ctx.Err() != nil {
				t.Errorf("it hangs")
			}
			if code != verb.ExitUnknown || !strings.Contains(strings.Join(strings.Fields(all.String()), " "), wrong) {
				t.Errorf("exit status %d, want %d and an error that contains %s", code, verb.ExitUnknown, wrong)
			}
			t.Logf("%d\n%s", code, &all)
		})
	}
}
