// Package condition says what can be waited for, and evaluates it on one version
// of one object.
//
//	spec, err := condition.Parse("self.status.readyReplicas == 3")
//	conds, err := condition.Compile(gvk, schema, []condition.Spec{spec})
//	verdict := conds[0].Evaluate(ctx, object)
//	verdict.Met    // false
//	verdict.Values // self.status.readyReplicas: 2
//
// A condition is compiled once for a kind and evaluated on as many objects as there
// are. It reads no clock and asks no server: what an object says of itself is all
// it knows. Watching, waiting, and looking for the cause below an object that is
// not ready are the work of others.
package condition
