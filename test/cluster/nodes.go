package cluster

import (
	"context"
	"fmt"
)

// object is a JSON object.
type object = map[string]any

// createNodes creates the nodes that kwok simulates, and its default storage class.
func (c *Cluster) createNodes(ctx context.Context) error {
	for i := range c.options.Nodes {
		err := c.client.create(ctx, "/api/v1/nodes", object{
			"apiVersion": "v1",
			"kind":       "Node",
			"metadata": object{
				"name": nodeName(i),
				// The labels that a kubelet sets: real pods select by them.
				"labels": object{
					"kubernetes.io/os":               "linux",
					"kubernetes.io/arch":             "amd64",
					"kubernetes.io/hostname":         nodeName(i),
					"node-role.kubernetes.io/worker": "",
				},
			},
		})
		if err != nil {
			return err
		}
	}
	return c.client.create(ctx, "/apis/storage.k8s.io/v1/storageclasses", object{
		"apiVersion": "storage.k8s.io/v1",
		"kind":       "StorageClass",
		"metadata": object{
			"name":        "kwok-volume", // the name in kwok's stages
			"annotations": object{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		"provisioner": "kwok.x-k8s.io/volume",
	})
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// awaitNodes returns when every node is ready and can be scheduled to.
func (c *Cluster) awaitNodes(ctx context.Context) error {
	return c.poll(ctx, func() bool {
		var nodes struct {
			Items []struct {
				Spec   struct{ Taints []any }
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if c.client.get(ctx, "/api/v1/nodes", &nodes) != nil {
			return false
		}
		ready := 0
		for _, node := range nodes.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == "Ready" && condition.Status == "True" && len(node.Spec.Taints) == 0 {
					ready++
				}
			}
		}
		return ready == c.options.Nodes
	})
}
