// Package convention knows what a manifest of one of Kubernetes' own kinds means beyond
// its fields: what the server makes of a Secret's stringData, which fields something else
// is meant to set, which members of a map exclude one another.
package convention
