// Package connection takes a call of the plugin to a cluster: the flags that every verb
// takes, the kubeconfig, the guards that refuse an unexpected cluster, and the resulting
// client. Printed commands get these flags too, so that they can be pasted.
package connection
