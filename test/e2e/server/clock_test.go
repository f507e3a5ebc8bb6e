package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// For a machine whose clock is an hour ahead of the cluster, a lease that was just renewed looks
// expired. Its holder would be reported as dead, and its finalizer as one to remove by hand.
func TestClockSkew(t *testing.T) {
	c, ns := shared.Cluster(t), uniqueName()
	const off = -time.Hour
	proxy := asAdmin(t, c)
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.CloseClientConnections)

	domain := ns + ".example.com"
	ask(t, c, "create", "namespace", ns)
	ask(t, c, "apply", "-f", write(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: `+ns+`, finalizers: [`+domain+`/hold]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: 8a3f.`+domain+`, namespace: `+ns+`}
spec: {holderIdentity: elsewhere_1, leaseDurationSeconds: 600, renewTime: "`+time.Now().Add(off).UTC().Format("2006-01-02T15:04:05.000000Z")+`"}
`))
	ask(t, c, "delete", "configmap/held", "-n", ns, "--wait=false")
	t.Cleanup(func() {
		ask(t, c, "patch", "configmap/held", "-n", ns, "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`)
	})
	args := []string{"stuck", "configmap/held", "-n", ns}
	r := start(t, "", c.KubeconfigPath, append(args, "--server="+server.URL)...)
	_ = r.Wait() // shown in the output
	if message := r.stdout.String(); !strings.Contains(message, "elsewhere_1") {
		t.Errorf("the holder of the lease is not named:\n%s%s", message, r.stderr.String())
	}
}
