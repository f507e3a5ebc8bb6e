// Package published reads the schemas that API servers publish, as kube-openapi decodes
// them. It is separate from openapi so that a program that predicts links kube-openapi
// only if it has such schemas.
package published
