package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuditCountsOnlyTheUsersFinishedRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func(text string) {
		t.Helper()
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	a, err := openAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()

	write(`{"stage":"ResponseComplete","verb":"patch","user":{"username":"kubectl"}}` + "\n")
	if err := a.skip(); err != nil {
		t.Fatal(err)
	}
	write(`{"stage":"ResponseComplete","verb":"patch","user":{"username":"kubectl"}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"kubectl"}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"system:apiserver"}}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"kubectl"}}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"kubectl"}}
{"stage":"ResponseComplete","verb":"list","us`)
	got, err := a.verbs(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"patch": 2, "watch": 1}, got); diff != "" {
		t.Error(diff)
	}
	write(`er":{"username":"kubectl"}}` + "\n")
	got, err = a.verbs(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"list": 1}, got); diff != "" {
		t.Error(diff)
	}
}
