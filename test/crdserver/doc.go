// Package crdserver is an API server for one custom resource, in memory. What
// decides is what decides in a real one: apimachinery's field manager for custom
// resources, and the pruning, defaulting and validation of the API extensions
// server. It shares no code with what it judges.
//
// It is for properties over tens of thousands of objects, which a real server
// would take hours for. What a real server does besides (Go types, admission,
// storage) is tested with a real one in test/e2e.
package crdserver
