package fieldpath

// IsUnowned reports whether a field of metadata is one that the API server strips
// from every field set.
func IsUnowned(name string) bool {
	switch name {
	case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
		"generation", "managedFields", "resourceVersion":
		return true
	}
	return false
}

// IsIdentity reports whether a path belongs to the identity of the object, which
// has no owner and which every manifest states.
func IsIdentity(p Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return true
	}
	switch *p[0].FieldName {
	case "apiVersion", "kind":
		return true
	case "metadata":
		return len(p) == 1 || p[1].FieldName != nil && IsUnowned(*p[1].FieldName)
	}
	return false
}

// IsKeyField reports whether a path names a field of the key of a list item.
func IsKeyField(p Path) bool {
	if len(p) < 2 || p[len(p)-2].Key == nil || p[len(p)-1].FieldName == nil {
		return false
	}
	_, is := KeyField(p[len(p)-2], *p[len(p)-1].FieldName)
	return is
}
