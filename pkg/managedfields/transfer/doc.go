// Package transfer moves fields from one manager's entries in metadata.managedFields to another's,
// shares them, or releases them. Call [Give] with a [Wish]. The package only changes entries and
// sends nothing.
package transfer
