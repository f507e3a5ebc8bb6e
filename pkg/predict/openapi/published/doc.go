// Package published reads the schemas that API servers publish, as kube-openapi decodes
// them. It is apart from openapi so that a program which predicts links kube-openapi only
// if it has such schemas.
package published
