// Package target is which objects a verb is about: those that arguments name, those of a type
// that flags select, or those of manifests. It also says why one that was named may not be
// there.
package target
