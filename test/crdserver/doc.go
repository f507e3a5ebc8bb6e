// Package crdserver is an API server for one custom resource, in memory. It decides with
// the code of a real one: apimachinery's field manager for custom resources, and the
// pruning, defaulting and validation of the API extensions server. It shares no code with
// what it judges.
//
// It is for properties over tens of thousands of objects, which would take hours on a
// real server. The rest of a real server (Go types, admission, storage) is tested with a
// real one in test/e2e.
package crdserver
