package readiness

import "testing"

// A malformed status is never read as a valid one. The message says what is malformed.
func TestReadyMalformedStatus(t *testing.T) {
	balancer := func(ingress string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [" + ingress + "]}}}"
	}
	testReady(t, map[string]readyCase{
		"an empty address":             {object: balancer("{}"), want: "not ready, InProgress: its load balancer has no address yet"},
		"an empty and a valid address": {object: balancer("{}, {hostname: lb.example}"), want: "ready, Ready: its load balancer has an address"},
		"a condition in lower case": {
			object: `{apiVersion: e.com/v1, kind: Db, metadata: {name: d}, status: {conditions: [{type: ready, status: "true"}]}}`,
			want:   `not ready, InProgress: its condition ready is "true", which is not True, False or Unknown`,
		},
	})
}
