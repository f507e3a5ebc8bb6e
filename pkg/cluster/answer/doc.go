// Package answer tells an answer of an API server from what a proxy, a gateway or a
// cache puts in its place: a success is no proof (edge case 85). It decodes objects,
// lists and reviews, and finds fault with those that are not what was asked for.
//
// It sends nothing and remembers nothing.
package answer
