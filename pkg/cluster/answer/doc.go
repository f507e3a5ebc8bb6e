// Package answer distinguishes an answer of an API server from what a proxy, a gateway or
// a cache puts in its place: a success is no proof (edge case 85). It decodes objects,
// lists and reviews, and rejects those that do not match the request.
//
// It sends nothing and remembers nothing.
package answer
