// Package fieldstest has objects with managed fields as a real API server wrote them, for the
// tests of whatever reads those.
package fieldstest
