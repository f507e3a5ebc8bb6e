// Package glance tells what the objects of a manifest are probably called, from its lines, in
// a fraction of the time that it takes to decode them. It is no parser: it may miss an object,
// or see one where there is none, so nothing but speed may depend on it.
package glance
