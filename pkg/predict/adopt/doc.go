// Package adopt works out how a manager takes over fields that others hold, or that nobody
// does: what becomes of managed fields, and what then leaves the object. It is all values;
// whoever calls it writes.
package adopt
