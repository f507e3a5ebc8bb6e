package fieldpath

// Optional is a value, or its absence: nil is a value, too.
type Optional struct {
	Value any
	Has   bool
}

// Present returns a value that is there.
func Present(v any) Optional { return Optional{Value: v, Has: true} }

// FieldOf returns what a map has under a name; nothing where v is no map.
func FieldOf(v any, name string) Optional {
	m, _ := v.(map[string]any)
	below, has := m[name]
	return Optional{Value: below, Has: has}
}
