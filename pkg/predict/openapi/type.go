package openapi

// Type is what a schema declares of a value, with its references resolved. Callers with
// other schemas implement it; package published does for those that an API server
// publishes. No schema is a nil Type.
type Type interface {
	// Name is that of the type, "io.k8s.api.core.v1.PodSpec"; empty where it has none.
	Name() string
	// Kinds are what JSON may stand there: "object", "array", "string", "integer", …
	Kinds() []string
	// Properties are the names of the fields that are declared.
	Properties() []string
	// Property returns a field, nil where it is not declared.
	Property(name string) Type
	// Values is what the keys have in common that are not declared one by one; it may be
	// nil although there may be such keys.
	Values() (values Type, open bool)
	// Items is what the items of a list are, nil where that is not declared.
	Items() Type
	// Default is what stands there where nothing is stated; nil for none.
	Default() any
	// Extension returns what stands under a key of Kubernetes' own, such as
	// "x-kubernetes-list-type"; nil for nothing.
	Extension(key string) any
}
