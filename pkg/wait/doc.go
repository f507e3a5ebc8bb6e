// Package wait waits until objects meet their conditions.
//
//	engine := wait.Engine{Source: client, Timeout: 5 * time.Minute, Emit: emit}
//	err := engine.Run(ctx, []wait.Target{{
//		Kind:      deployments,
//		Selection: object.Selection{Namespace: "prod", Name: "web"},
//		Goal:      &wait.Goal{For: []condition.Spec{ready}},
//	}})
//
// There is one watch for all objects of a kind and namespace, and every version of an
// object is evaluated by all of its conditions. An object that has met them is done with,
// whatever happens to it later. Events report what becomes of each; the error says only how
// the whole went.
//
// The package does not say what a condition means (package condition), does not
// look for causes and does not print.
package wait
