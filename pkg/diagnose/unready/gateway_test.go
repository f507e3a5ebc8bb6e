package unready_test

import "testing"

// If an object of the Gateway API refers to a missing object, the missing object is the cause,
// because no controller acts without it.
func TestReferencesToMissingObjects(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: prod, uid: r-1, creationTimestamp: "2026-01-01T11:50:00Z"},
  spec: {parentRefs: [{name: front}], rules: [{backendRefs: [{name: web, port: 80}, {name: pool, kind: Pool, group: example.com}]}]}}`
	stories(t, map[string]story{
		"a route": {
			facts:  route,
			absent: []string{"Gateway.gateway.networking.k8s.io/prod/front", "Service/prod/web"},
			want: []string{
				"ReferenceMissing: httproute.gateway.networking.k8s.io/web -n prod needs Service service/web -n prod, which does not exist",
				"ReferenceMissing: httproute.gateway.networking.k8s.io/web -n prod needs Gateway gateway.gateway.networking.k8s.io/front -n prod, which does not exist",
			},
			next: "kubectl get service -n prod",
		},
		"a gateway": {
			facts:  `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: front, namespace: prod, uid: g-1, creationTimestamp: "2026-01-01T11:50:00Z"}, spec: {gatewayClassName: envoy}}`,
			absent: []string{"GatewayClass.gateway.networking.k8s.io/envoy"},
			want:   []string{"ReferenceMissing: gateway.gateway.networking.k8s.io/front -n prod needs GatewayClass gatewayclass.gateway.networking.k8s.io/envoy, which does not exist"},
		},
	})
}
