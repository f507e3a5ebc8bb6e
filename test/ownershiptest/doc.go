// Package ownershiptest compares two versions of an object as the webhook does.
package ownershiptest
