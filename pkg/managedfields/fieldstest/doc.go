// Package fieldstest has objects with managed fields as a real API server wrote them, for tests of
// packages that read managed fields.
package fieldstest
