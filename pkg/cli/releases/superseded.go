package releases

import (
	"context"
	"fmt"
	"strconv"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// superseded adds the releases whose newest revision is superseded: its successor was deleted, as people do with a
// revision that is stuck. Helm upgrades them from that revision. Each release has many superseded ones, so only
// their metadata is listed.
func (r *reader) superseded(ctx context.Context, place helmrelease.Place, namespace string, stored inventory.Stored) error {
	labels := "owner=helm,status=superseded"
	if r.name != "" {
		labels += ",name=" + r.name
	}
	newest := map[inventory.StoredRelease]int{}
	which := object.Selection{Namespace: namespace, Labels: labels, Fields: place.Fields}
	found, err := r.server.NoRetry().Metadata(ctx, place.Kind, which)
	if err != nil {
		return err
	}
	for _, u := range found {
		named := inventory.StoredRelease{Release: inventory.Release{Namespace: u.GetNamespace(), Name: u.GetLabels()["name"]}, Driver: place.Driver}
		if version, err := strconv.Atoi(u.GetLabels()["version"]); err == nil {
			newest[named] = max(newest[named], version)
		}
	}
	for named, version := range newest {
		if last := stored[named].Last; last != nil {
			if is, _ := strconv.Atoi(last.GetLabels()["version"]); is > version {
				continue
			}
		}
		of := object.Selection{Namespace: named.Namespace, Labels: fmt.Sprintf("%s,version=%d", inventory.Labels(named.Name), version)}
		if err := r.server.NoRetry().SelectLarge(ctx, place.Kind, of, place.Fields, stored.Add); err != nil {
			return err
		}
	}
	return nil
}
