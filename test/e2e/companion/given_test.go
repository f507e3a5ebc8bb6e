package companion_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Given fields are recorded as given, with the user, and never as taken: a part of an owner's
// entry, and all of it. Giving a shared field takes nothing from an owner, and is not recorded. A
// value that changes under give's name is recorded as taken.
func TestGivenFieldsAreRecorded(t *testing.T) {
	c := newClient(t, "")
	c.namespace(t, "given")
	o := c.apply(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: given}, data: {part: '1', rest: '1', both: '1'}}", "argo")
	give := func(args ...string) {
		t.Helper()
		var out, stderr bytes.Buffer
		args = append([]string{
			"kubectl-k8sconnect", "give", "cm/a", "-n", "given", "--as=alice", "--as-group=system:masters",
			"--kubeconfig", c.KubeconfigPath, "--cache-dir", t.TempDir(),
		}, args...)
		status := cli.Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &stderr})
		if status != 0 || strings.Contains(stderr.String(), "taken") {
			t.Fatalf("give %v ends with %d:\n%s%s", args[10:], status, &out, &stderr)
		}
	}
	recorded := func() map[string]string {
		out := map[string]string{}
		for _, e := range c.record(t, o) {
			out[e.Path] = fmt.Sprintf("%s from %s to %s by %s, %d", e.Kind, e.From[0].Manager, e.To[0].Manager, e.User, e.Count)
		}
		return out
	}
	await := func(want map[string]string) {
		t.Helper()
		eventually(t, fmt.Sprint("recorded is ", want), func() bool { return fmt.Sprint(recorded()) == fmt.Sprint(want) })
	}

	give(".data.both", "--to=team", "--as-operation=update", "--share")
	give(".data.part", "--to=flux", "--as-operation=apply")
	want := map[string]string{".data.part": "given from argo to flux by alice, 1"}
	await(want)
	give("--from=argo", "--to=flux")
	want[".data.rest"] = "given from argo to flux by alice, 1"
	want[".data.both"] = "given from argo to flux by alice, 1"
	await(want)
	if message, status := c.history(t, o, ".data.part"); status != 0 || !strings.Contains(message, "given  from argo (Apply) to flux (Apply)") || !strings.Contains(message, "by the user alice") {
		t.Errorf("status %d, history:\n%s", status, message)
	}

	// This record is written after all earlier ones, so no record of the gifts can follow.
	mallory := newClient(t, "mallory")
	if _, err := mallory.Resource(configMaps).Namespace("given").Patch(t.Context(), "a", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/data/part","value":"2"}]`), metav1.PatchOptions{FieldManager: managedfields.Giver}); err != nil {
		t.Fatal(err)
	}
	c.awaitTaken(t, o, taking{".data.part", "flux", managedfields.Giver, "mallory"})
	if got := takings(c.record(t, o)); len(got) != 1 {
		t.Errorf("taken: %+v", got)
	}
	for _, e := range c.record(t, o) {
		if e.Kind == ownership.Lost || e.Gap {
			t.Errorf("recorded: %+v", e)
		}
	}
}
