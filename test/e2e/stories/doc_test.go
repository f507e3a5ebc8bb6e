// Package stories tells what people went through who keep clusters, one story a file, on
// the real control plane: what they wanted, and that it ends well. Each is told in the order
// in which it happened to them; what breaks is broken until something is seen, never for a
// time.
package stories_test
