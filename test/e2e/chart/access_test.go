package chart_test

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// mapper returns the API server's RESTMapper.
func (s site) mapper(t *testing.T) func(schema.GroupVersionKind) (*meta.RESTMapping, error) {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(s.typed.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	return func(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
		return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
}

// The webhook's permissions, and what it may not do, according to the API server.
func TestAccess(t *testing.T) {
	s := newSite(t)
	type attributes = authorizationv1.ResourceAttributes
	const home = "access-home"
	own := func(verb, group, resource, name string) attributes {
		return attributes{Namespace: home, Verb: verb, Group: group, Resource: resource, Name: name}
	}
	all := func(verb, group, resource string) attributes {
		return attributes{Verb: verb, Group: group, Resource: resource}
	}
	const admission, coordination, records = "admissionregistration.k8s.io", "coordination.k8s.io", "ownership.k8sconnect.io"
	const configuration = "validatingwebhookconfigurations"
	// The permissions: with Secrets; without Secrets, but with a custom group; with cert-manager.
	type may [3]bool
	always, never := may{true, true, true}, may{}
	secretsOnly, selfSigned := may{true, false, false}, may{true, true, false}
	s.define(t, "cert-manager.io", "Issuer", "Certificate")
	for i, values := range []string{
		"tracking.secrets=true",
		"tracking.customGroups={example.com}",
		"certificates.certManager=true",
	} {
		t.Run(values, func(t *testing.T) {
			s.install(t, "access", home, "--set", values)
			// The authorizer notices roles and bindings by watches.
			eventually(t, "both roles are known", func() bool {
				return s.may(t, home, own("update", "", "configmaps", "access")) && s.may(t, home, all("list", "", "pods"))
			})
			for name, test := range map[string]struct {
				attributes
				may
			}{
				"list pods":                              {all("list", "", "pods"), always},
				"watch deployments":                      {all("watch", "apps", "deployments"), always},
				"watch definitions":                      {all("watch", "apiextensions.k8s.io", "customresourcedefinitions"), always},
				"list a named custom group":              {all("list", "example.com", "birds"), may{true, true, false}},
				"list another custom group":              {all("list", "example.net", "fish"), secretsOnly},
				"list Secrets":                           {all("list", "", "secrets"), secretsOnly},
				"watch Secrets":                          {all("watch", "", "secrets"), secretsOnly},
				"get Secrets":                            {all("get", "", "secrets"), never},
				"get pods":                               {all("get", "", "pods"), never},
				"write pods":                             {all("update", "", "pods"), never},
				"create pods":                            {all("create", "", "pods"), never},
				"delete pods":                            {all("delete", "", "pods"), never},
				"impersonate":                            {all("impersonate", "", "users"), never},
				"exec with get":                          {attributes{Verb: "get", Resource: "pods", Subresource: "exec"}, never},
				"exec":                                   {attributes{Verb: "create", Resource: "pods", Subresource: "exec"}, never},
				"proxy to the kubelet":                   {attributes{Verb: "get", Resource: "nodes", Subresource: "proxy"}, never},
				"tokens":                                 {attributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}, never},
				"get records":                            {all("get", records, "ownershiprecords"), always},
				"list records":                           {all("list", records, "ownershiprecords"), always},
				"create records":                         {all("create", records, "ownershiprecords"), always},
				"patch records":                          {all("patch", records, "ownershiprecords"), always},
				"delete records":                         {all("delete", records, "ownershiprecords"), never},
				"create events":                          {all("create", "", "events"), always},
				"patch events":                           {all("patch", "events.k8s.io", "events"), always},
				"delete events":                          {all("delete", "", "events"), never},
				"renew its lease":                        {own("update", coordination, "leases", "access"), always},
				"create its lease again":                 {own("create", coordination, "leases", "access"), always},
				"create leases":                          {own("create", coordination, "leases", ""), never},
				"renew another lease":                    {own("update", coordination, "leases", "other"), never},
				"write its checkpoint":                   {own("update", "", "configmaps", "access"), always},
				"publish its coverage":                   {attributes{Namespace: "kube-public", Verb: "patch", Resource: "configmaps", Name: "k8sconnect-history"}, always},
				"write another ConfigMap in kube-public": {attributes{Namespace: "kube-public", Verb: "patch", Resource: "configmaps", Name: "cluster-info"}, never},
				"write another ConfigMap":                {own("update", "", "configmaps", "other"), never},
				"write its certificate":                  {own("update", "", "secrets", "access-self-signed"), selfSigned},
				"read its certificate":                   {own("get", "", "secrets", "access-self-signed"), selfSigned},
				"write the secret of its path":           {own("patch", "", "secrets", "access-path"), always},
				"read the secret of its path":            {own("get", "", "secrets", "access-path"), always},
				"write another Secret":                   {own("update", "", "secrets", "other"), never},
				"read another Secret":                    {own("get", "", "secrets", "other"), never},
				"create Secrets":                         {own("create", "", "secrets", ""), never},
				"patch its configuration":                {attributes{Verb: "patch", Group: admission, Resource: configuration, Name: "access"}, always},
				"patch another configuration":            {attributes{Verb: "patch", Group: admission, Resource: configuration, Name: "other"}, never},
				"create configurations":                  {all("create", admission, configuration), never},
				"delete its configuration":               {attributes{Verb: "delete", Group: admission, Resource: configuration, Name: "access"}, never},
				"grant":                                  {all("create", "rbac.authorization.k8s.io", "clusterrolebindings"), never},
			} {
				if got := s.may(t, home, test.attributes); got != test.may[i] {
					t.Errorf("%s: %t", name, got)
				}
			}
			s.helm.Run(t, "uninstall", "access", "--namespace", home)
		})
	}
}

// may asks the API server whether the release's account may do something.
func (s site) may(t *testing.T, home string, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + home + ":access",
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + home, "system:authenticated"},
		ResourceAttributes: &what,
	}}
	answer, err := s.typed.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// define creates kinds of other projects, without a schema.
func (s site) define(t *testing.T, group string, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		singular := strings.ToLower(kind)
		s.apply(t, definitions, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
			metadata: {name: %[3]ss.%[1]s}, spec: {group: %[1]s, scope: Namespaced,
			names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]ss, singular: %[3]s}, versions: [{name: v1, served: true, storage: true,
			schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`, group, kind, singular), "test")
		eventually(t, kind+" is served", func() bool {
			_, err := s.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: singular + "s"}).List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
	}
}
