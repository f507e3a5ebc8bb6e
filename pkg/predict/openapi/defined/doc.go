// Package defined has the types that definitions (CustomResourceDefinitions) declare.
package defined
