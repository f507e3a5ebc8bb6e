// Package stories_test follows people who run clusters, one story a file, on the real control
// plane: what they wanted, and that it ends well. Each story is in the order in which it
// happened; what breaks stays broken until an effect is seen, never for a fixed time.
package stories_test
