package openapi

// Type is what is declared about a value, with references resolved. Package published
// implements it for the schemas that an API server publishes, and local for the Go types
// of Kubernetes' own kinds; callers with other schemas bring their own. A nil Type means that
// nothing is known.
type Type interface {
	// Name is the type's name, such as "io.k8s.api.core.v1.PodSpec"; empty if it has none.
	Name() string
	// Kinds are the JSON types that a value may have: "object", "array", "string",
	// "integer", …
	Kinds() []string
	// Properties are the names of the fields that are declared.
	Properties() []string
	// Property returns a field, nil where it is not declared.
	Property(name string) Type
	// Values is the type of the keys that are not declared one by one. Open reports
	// whether there may be such keys; values may be nil even then.
	Values() (values Type, open bool)
	// Items is the type of a list's items, nil if it is not declared.
	Items() Type
	// Default is the value that is filled in if nothing is stated; nil for none.
	Default() any
	// Extension returns the value of an extension such as "x-kubernetes-list-type"; nil if
	// it is not there.
	Extension(key string) any
}
