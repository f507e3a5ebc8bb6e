package client

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	WorthList = worthList
	Apart     = apart
	OpenFor   = openFor
)

// Hold lets the client know the kinds of a namespace's contents.
func (c *Client) Hold(uid types.UID, kinds []object.Kind) { c.held.put(uid, kinds) }
