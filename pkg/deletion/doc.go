// Package deletion deletes objects in reverse order of their apply, and watches
// until they are gone.
//
//	engine := deletion.Engine{Server: client, Wait: true, Emit: emit}
//	err := engine.Run(ctx, deletion.Reverse(p))
//
// One list and one watch for each kind and namespace find the objects and see them
// go, so deleting a thousand of them takes a thousand requests and no more. Each
// is bound to the UID that was found: another object that has the name by then is
// left alone. A caller that chose an object by what was in it says so ([Item.Stays]), and the
// deletion is bound to the version that was looked at.
//
// An object that does not go at once is slow as long as something moves (its finalizers, its
// conditions, what a namespace holds), and stuck when nothing does. Then an [Explainer] is asked,
// again and again while the wait goes on. An object that cannot be seen is never reported as gone.
//
// It does not know why objects are stuck, and prints nothing.
package deletion
