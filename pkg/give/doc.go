// Package give transfers the ownership of live fields without changing their values. Start with
// [Engine.Run]. If another client wrote the object first, Run tries again.
package give
