// Package build reports what this program was built from: version, commit and date.
//
// A release is stamped by its linker. Without a stamp it is what the Go tool recorded:
// the version of `go install …@version`, or the commit of a clone.
package build
