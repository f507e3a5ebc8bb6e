// Package convention is what Kubernetes' own kinds mean by what a manifest states, where that
// is more than its fields say: what of a Secret becomes what, which fields are somebody
// else's to set, which members of a map exclude one another.
package convention
