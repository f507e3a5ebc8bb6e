// Package adopt works out how a manager takes over fields that others hold, or that have no
// owner: what becomes of managed fields, and what then leaves the object. It deals in
// values; the caller writes.
package adopt
