// Package diagnose gathers the facts that rules ask for, and finds the controller of an object. A
// rule is a function over a [Run]; [Gatherer.Fill] reads the answers to its questions and runs it
// again until it asks nothing more. Unknown is not absent: each answer says whether it is sure. It
// changes nothing in the cluster.
package diagnose
