// Package object names things: an object ([Ref]), the place where it is written
// ([Manifest], [Source]), and what the cluster says of its kind ([Kind]).
//
//	ref := object.RefOf(u)
//	ref.String()   // "deployment.apps/web -n prod", wherever people read
//	ref.Resource() // "deployment.apps/web", as kubectl prints it
//
// It does not read files, talk to a server or look at managed fields.
package object
