package ownership_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

func stamped(minute int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))
}

func deletionOf(uid string, d ownership.Deletion) ownership.Deletion {
	d.Object = ownership.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "x-" + uid, UID: types.UID(uid)}
	if d.By == "" {
		d.By = ownership.CauseOf(d.User)
	}
	return d
}

// Only Kubernetes' own programs are controllers; others in kube-system act for people.
func TestCauseOf(t *testing.T) {
	const inKubeSystem = "system:serviceaccount:kube-system:"
	for user, want := range map[string]ownership.DeletionCause{
		"": ownership.ByUnknown, "jane": ownership.ByUser, "kubernetes-admin": ownership.ByUser,
		"system:apiserver": ownership.ByController, "system:kube-scheduler": ownership.ByController, "system:node:n1": ownership.ByController,
		inKubeSystem + "generic-garbage-collector": ownership.ByOwner, inKubeSystem + "namespace-controller": ownership.ByNamespace,
		inKubeSystem + "job-controller": ownership.ByController, inKubeSystem + "argocd-user": ownership.ByUser,
		inKubeSystem + "kustomize-controller": ownership.ByUser, "system:serviceaccount:argocd:job-controller": ownership.ByUser,
	} {
		if got := ownership.CauseOf(user); got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
	}
}

// Replicas report what they know of a deletion, in any order; the result is the same.
func TestDeletionsAreMerged(t *testing.T) {
	jane := ownership.Deletion{User: "jane", Asked: stamped(1)}
	gone := ownership.Deletion{Gone: stamped(2), Owners: []ownership.Holder{{Manager: "flux", Operation: "Apply"}}}
	with := ownership.Deletion{Gone: stamped(2), By: ownership.ByNamespace, Via: ownership.Reference{Kind: "Namespace", Name: "shop"}}
	tests := map[string]struct {
		reports []ownership.Deletion
		want    string
	}{
		"asked":                      {[]ownership.Deletion{jane}, "user jane, asked 1"},
		"asked, then gone":           {[]ownership.Deletion{jane, gone}, "user jane, asked 1, gone 2, 1 owners"},
		"twice":                      {[]ownership.Deletion{jane, gone, gone, jane}, "user jane, asked 1, gone 2, 1 owners"},
		"only seen":                  {[]ownership.Deletion{gone}, "unknown , gone 2, 1 owners"},
		"with its namespace":         {[]ownership.Deletion{gone, with}, "namespace , gone 2, via shop, 1 owners"},
		"a user in a going one":      {[]ownership.Deletion{with, jane}, "user jane, asked 1, gone 2"},
		"two users at the same time": {[]ownership.Deletion{jane, {User: "joe", Asked: stamped(1)}, jane, gone}, "user , asked 1, gone 2, several, 1 owners"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]ownership.Deletion{tt.reports, reversed(tt.reports)} {
				var r ownership.Record
				for _, d := range order {
					r.AddDeletion(deletionOf("a", d), noon)
				}
				if len(r.Deletions) != 1 || describe(r.Deletions[0]) != tt.want {
					t.Errorf("%d deletions, %s, not %s", len(r.Deletions), describe(r.Deletions[0]), tt.want)
				}
				if r.AddDeletion(deletionOf("a", order[0]), noon) {
					t.Error("a report that is known changes the record")
				}
			}
		})
	}
}

func reversed(all []ownership.Deletion) (out []ownership.Deletion) {
	for i := range all {
		out = append(out, all[len(all)-1-i])
	}
	return out
}

func describe(d ownership.Deletion) string {
	out := fmt.Sprintf("%s %s", d.By, d.User)
	minutes := func(t metav1.Time) int { return int(t.Sub(noon).Minutes()) }
	if !d.Asked.IsZero() {
		out += fmt.Sprintf(", asked %d", minutes(d.Asked))
	}
	if !d.Gone.IsZero() {
		out += fmt.Sprintf(", gone %d", minutes(d.Gone))
	}
	if d.Via.Name != "" {
		out += ", via " + d.Via.Name
	}
	if d.Several {
		out += ", several"
	}
	if len(d.Owners) > 0 {
		out += fmt.Sprintf(", %d owners", len(d.Owners))
	}
	return out
}

// A record keeps deletions for a week, and at most 256. It drops and counts those that no user asked
// for first. An object that may still exist is not forgotten.
func TestDeletionsAreBounded(t *testing.T) {
	var r ownership.Record
	r.AddDeletion(deletionOf("lives", ownership.Deletion{User: "jane", Asked: stamped(0)}), noon)
	r.AddDeletion(deletionOf("old", ownership.Deletion{User: "jane", Gone: stamped(0)}), noon)
	for n := range 300 {
		by := ownership.ByNamespace
		if n < 100 {
			by = ownership.ByUser
		}
		r.AddDeletion(deletionOf(fmt.Sprint(n), ownership.Deletion{By: by, Gone: stamped(n)}), noon)
	}
	users := 0
	for _, d := range r.Deletions {
		if d.By == ownership.ByUser {
			users++
		}
	}
	if len(r.Deletions) != 256 || users != 102 || r.DeletionsDropped != 46 || !r.DroppedUntil.Equal(new(stamped(145))) {
		t.Errorf("%d kept, %d of users, %d dropped until %s", len(r.Deletions), users, r.DeletionsDropped, r.DroppedUntil)
	}
	later := noon.Add(8 * 24 * time.Hour)
	r.AddDeletion(deletionOf("new", ownership.Deletion{Gone: metav1.NewTime(later)}), later)
	var left []string
	for _, d := range r.Deletions {
		left = append(left, string(d.Object.UID))
	}
	if diff := cmp.Diff([]string{"lives", "new"}, left); diff != "" || r.DeletionsDropped != 0 {
		t.Errorf("after eight days (-want +got), %d dropped:\n%s", r.DeletionsDropped, diff)
	}
	for _, d := range []string{"a", "b"} { // reported once more by a replica that starts from its checkpoint
		r.AddDeletion(deletionOf(d, ownership.Deletion{Gone: stamped(0)}), later)
	}
	if len(r.Deletions) != 2 {
		t.Errorf("%d deletions after old ones were reported again", len(r.Deletions))
	}
}
