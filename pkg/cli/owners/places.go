package owners

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// places returns the lists to read, and a phrase that describes them.
func (o *surveyOptions) places(ctx context.Context, in verb.Invocation, client *client.Client) ([]survey.Place, string, error) {
	switch {
	case o.everything:
		return o.allKinds(ctx, in, client)
	case o.targets.InFiles:
		p, err := o.targets.Files.Order(ctx, in.Connection, client, o.out.Print)
		if err != nil {
			return nil, "", err
		}
		if err := o.targets.Files.InServedVersions(ctx, client, p, o.out.Print); err != nil {
			return nil, "", err
		}
		return survey.Named(itemsOf(p), why(ctx, client), worth(ctx, client)), " of the manifests", nil
	}
	found, err := o.targets.Resolve(ctx, in.Connection, client)
	if err != nil {
		return nil, "", err
	}
	return survey.Named(found, why(ctx, client), worth(ctx, client)), "", nil
}

func worth(ctx context.Context, client *client.Client) func(object.Kind, int) bool {
	return func(kind object.Kind, requests int) bool { return client.WorthAcross(ctx, kind, requests) }
}

// why returns a function that explains why a kind is not served. The function asks the server only
// once for each kind.
func why(ctx context.Context, client *client.Client) func(schema.GroupVersionKind) error {
	asked := map[schema.GroupVersionKind]error{}
	return func(gvk schema.GroupVersionKind) error {
		if asked[gvk] == nil {
			asked[gvk] = client.Unserved(ctx, gvk)
		}
		return asked[gvk]
	}
}

func (o *surveyOptions) allKinds(ctx context.Context, in verb.Invocation, client *client.Client) ([]survey.Place, string, error) {
	sel, where := object.Selection{Labels: o.targets.Labels}, " in the cluster"
	if !o.targets.Everywhere {
		namespace, _, err := in.Namespace()
		if err != nil {
			return nil, "", err
		}
		sel.Namespace, where = namespace, " in the namespace "+namespace
	}
	listable, err := client.Listable(ctx)
	if err != nil {
		return nil, "", err
	}
	return survey.AllKinds(listable, sel), where, nil
}

func itemsOf(p *plan.Plan) []target.Target {
	var found []target.Target
	for item := range p.Items() {
		kind := item.Kind
		if kind.Resource == "" {
			kind = object.Kind{GVK: item.GVK}
		}
		found = append(found, target.Target{Kind: kind, Selection: object.Selection{Namespace: item.Namespace, Name: item.Name}})
	}
	return found
}

// count counts the owners in the places. The result includes the kinds that cannot be read.
func count(ctx context.Context, reader *client.NoRetry, places []survey.Place, question owners.Question) event.Surveyed {
	all := owners.New(question)
	for _, u := range survey.Read(ctx, reader, places, func() *owners.Counter { return owners.New(question) },
		func(c *owners.Counter, o client.ObjectFields) { c.Add(o.Ref, o.Fields) }, all.Merge) {
		all.Miss(u)
	}
	return all.Result()
}
