// Package give transfers the ownership of fields of live objects, without changing a value. Start
// with [Engine.Run]. transfer.Wish decides the change; this package reads the object, sends the
// managed fields for that version, and starts again if another client was faster.
package give
