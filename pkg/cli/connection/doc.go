// Package connection is how a call of the plugin reaches a cluster: the flags that every verb
// takes, the kubeconfig, the guards that refuse a cluster which is not the expected one, and
// the client that comes of it. What a run prints gets these flags too, so that a command can
// be pasted.
package connection
