// Package give transfers the ownership of live fields without changing their values. Start with
// [Engine.Run]. It retries if another client wrote the object first.
package give
