// Package transfer moves fields from one manager's entries of metadata.managedFields to another's,
// shares them, or releases them. Call [Give] with a [Wish]. It changes entries only, and sends
// nothing.
package transfer
