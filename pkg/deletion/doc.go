// Package deletion deletes objects in reverse order and watches until they are gone, each bound to
// the UID that was found. Start with [Reverse] and [Engine.Run]. An object that cannot be seen is
// never reported as gone. It does not know why objects are stuck, and prints nothing.
package deletion
