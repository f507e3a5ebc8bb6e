// Package owners finds the manager that owns each field of an object, and earlier owners from the
// webhook's OwnershipRecord; it also counts owners over many objects. Start with [Engine.Run] or
// [Counter]. It changes nothing and formats nothing.
package owners
