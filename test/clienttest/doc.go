// Package clienttest has what the tests of the client's packages share: a server without a network, its
// answers, and the kinds of requests.
package clienttest
