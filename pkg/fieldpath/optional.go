package fieldpath

// Optional is a value or its absence: nil is a value, too.
type Optional struct {
	Value any
	Has   bool
}

// Present returns an Optional that holds v.
func Present(v any) Optional { return Optional{Value: v, Has: true} }

// FieldOf returns the value of a map under a name; absent if v is no map.
func FieldOf(v any, name string) Optional {
	m, _ := v.(map[string]any)
	below, has := m[name]
	return Optional{Value: below, Has: has}
}
