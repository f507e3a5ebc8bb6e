package cluster

import (
	"fmt"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/kinds"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// New returns a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	var telling sync.Mutex
	clock := &request.Clock{}
	config := request.Prepare(o.REST, request.Origin{Run: o.Run, Sent: o.Sent, Guard: o.Guard, Opening: o.Opening}, request.NewWarnings(&telling, o.OnWarning), clock)
	cache, err := kinds.NewCache(config, o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Client{
		rest: client,
		requests: request.New(client, request.Options{
			Timeout: o.ServerTimeout, Outage: o.Outage, Concurrency: o.Concurrency,
			Telling: &telling, OnRetry: o.OnRetry, OnStall: o.OnStall, Credentials: o.Credentials, OnCredentials: o.OnCredentials,
		}),
		clock: clock,
	}
	c.Discovery = kinds.New(kinds.Options{Cache: cache, REST: client, Send: c.requests, Timeout: max(o.ServerTimeout, o.Outage), Get: c.Get})
	c.lists = &listwatch.Source{REST: client, Send: c.requests, NewlyServed: c.NewlyServed, OnPolling: onPolling(&telling, o.OnPolling)}
	return c, nil
}

// onPolling calls tell once for each kind and namespace.
func onPolling(telling *sync.Mutex, tell func(object.Kind, string, string)) func(object.Kind, object.Selection, string) {
	type place struct{ resource, namespace string }
	told := map[place]bool{}
	return func(kind object.Kind, sel object.Selection, verb string) {
		telling.Lock()
		defer telling.Unlock()
		at := place{kind.GVR().GroupResource().String(), sel.Namespace}
		if tell == nil || told[at] {
			return
		}
		told[at] = true
		tell(kind, sel.Namespace, verb)
	}
}
