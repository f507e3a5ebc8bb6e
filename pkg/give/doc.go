// Package give transfers the ownership of live fields without changing their values. Start with
// [Engine.Run]. transfer.Wish computes the change. This package reads the object, writes its
// managed fields for the version that was read, and retries if another client wrote first.
package give
