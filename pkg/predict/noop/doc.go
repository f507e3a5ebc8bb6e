// Package noop decides from the live object alone whether an apply has to ask the server
// first: [Unchanged] and [Clear] are promises, [Doubtful] means that only a dry run knows.
package noop
