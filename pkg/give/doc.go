// Package give transfers the ownership of live fields without changing their values. Start with
// [Engine.Run]. transfer.Wish computes the change; this package reads the object, writes the
// managed fields for that version, and retries if another client wrote first.
package give
