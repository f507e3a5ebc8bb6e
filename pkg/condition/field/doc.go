// Package field says where in an object a condition looks: the place of a field, what is read
// of an object and what can be left out of it, and what a schema knows of a name.
package field
