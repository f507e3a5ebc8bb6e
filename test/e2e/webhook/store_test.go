package webhook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

// The store writes records unchanged, refuses to overwrite a version that it has not read, and
// lists them all.
func TestStore(t *testing.T) {
	c := shared.Cluster(t)
	admin := newClient(t, c.KubeconfigPath)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "charts", "k8sconnect", "files", "ownershiprecords.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := object("", "", "")
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		t.Fatal(err)
	}
	admin.apply(t, crd, "setup", false)
	admin.must(t, "v1", "Namespace", "metadata: {name: store}")
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	store, err := webhook.NewStore(config)
	if err != nil {
		t.Fatal(err)
	}
	record := ownership.NewRecord(ownership.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "store", Name: "a", UID: "0a3d4c62-1111-4222-8333-000000000001"}, "")
	eventually(t, "records are served", func() bool {
		return !apierrors.IsNotFound(store.Create(t.Context(), record))
	})
	if record.ResourceVersion == "" {
		t.Fatal("the record is not created")
	}
	if err := store.Create(t.Context(), record.DeepCopyObject().(*ownership.Record)); err == nil {
		t.Error("created twice")
	}
	one, err := store.Get(t.Context(), "store", record.Name)
	if err != nil {
		t.Fatal(err)
	}
	other, err := store.Get(t.Context(), "store", record.Name)
	if err != nil {
		t.Fatal(err)
	}
	one.Dropped, other.Dropped = 1, 2
	if err := store.Update(t.Context(), one); err != nil {
		t.Error(err)
	}
	if err := store.Update(t.Context(), other); !apierrors.IsConflict(err) {
		t.Errorf("update with an old version: %v, want a conflict", err)
	}
	other.ResourceVersion = ""
	if err := store.Update(t.Context(), other); err == nil {
		t.Error("update without a version succeeded")
	}
	if _, err := store.Get(t.Context(), "store", "none"); !apierrors.IsNotFound(err) {
		t.Errorf("get of a missing record: %v, want not found", err)
	}
	var found []string
	err = store.List(t.Context(), func(r *ownership.Record) error {
		found = append(found, fmt.Sprint(r.Object.Name, r.Dropped))
		return nil
	})
	if err != nil || len(found) != 1 || found[0] != "a1" {
		t.Errorf("listed %v, %v, want a1", found, err)
	}
}
