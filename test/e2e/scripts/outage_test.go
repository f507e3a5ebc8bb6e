package scripts_test

import (
	"net/http"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// badLine is a proxy that can return errors instead of the API server's responses.
type badLine struct {
	cluster *cluster.Cluster
	http    *proxy.HTTP
	wire    *proxy.TCP // in front of it; breaks connections and their watches
}

// badLineKey is the key of a script's badLine.
type badLineKey struct{}

// outage makes the API server answer nothing but errors to clients that use the
// kubeconfig $BAD_LINE:
//
//	outage open
//	outage begin 503
//	outage end
func outage(ts *testscript.TestScript, neg bool, args []string) {
	line, ok := ts.Value(badLineKey{}).(*badLine)
	if neg || !ok || len(args) == 0 {
		ts.Fatalf("usage: outage open | begin STATUS | end")
	}
	switch args[0] {
	case "open":
		ts.Check(line.open(ts))
	case "begin":
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		line.http.Fail(-1, func(*http.Request) bool { return true }, proxy.Fault{Status: status})
		line.wire.Break()
	case "end":
		line.http.Heal()
	}
}

func (l *badLine) open(ts *testscript.TestScript) (err error) {
	if l.http, err = l.cluster.HTTPProxy(); err != nil {
		return err
	}
	ts.Defer(l.http.Close)
	if l.wire, err = proxy.NewTCP(l.http.URL()); err != nil {
		return err
	}
	ts.Defer(l.wire.Close)
	kubeconfig, err := l.cluster.Kubeconfig(l.wire.URL())
	ts.Setenv("BAD_LINE", kubeconfig)
	return err
}
