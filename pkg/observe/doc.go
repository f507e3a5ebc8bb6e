// Package observe sees objects of one kind through one watch: those that are named, or
// all that a selector selects.
//
//	view := &observe.View{Server: client, Kind: deployments, Names: []string{"web", "db"}}
//	view.Selection.Namespace = "prod"
//	err := view.Follow(ctx, tell)
//
// It promises more than the watch below it. Once it says Synced, each name was reported, as
// present or as gone. When a watch ends and another one begins, the two look like one: what
// went in between is reported as gone. And a view with Patience goes on through errors that
// may pass, until they have lasted for too long.
//
// What follows from that (deleted, met, unknown) is for its callers to say. It keeps no
// object and prints nothing.
package observe
