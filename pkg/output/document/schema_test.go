package document

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/schemas"
)

var update = flag.Bool("update", false, "write docs/schemas")

// The published schemas are those of the types. Package reportjudge validates the documents of the
// scripts against them.
func TestSchemas(t *testing.T) {
	const root = "../../.."
	g := schemas.Generator{Root: root, Written: map[reflect.Type]reflect.Type{reflect.TypeFor[object.Ref](): reflect.TypeFor[objectName]()}}
	for kind, tt := range map[string]struct {
		version  string
		document any
	}{
		"ApplyResult":      {apiVersion, result[appliedObject]{}},
		"DiffResult":       {apiVersion, result[comparedObject]{}},
		"DeleteResult":     {apiVersion, result[stuckObject]{}},
		"StuckResult":      {apiVersion, result[stuckObject]{}},
		"GiveResult":       {apiVersion, result[givenObject]{}},
		"WaitResult":       {apiVersion, result[waitedObject]{}},
		"OwnersResult":     {ownersVersion, ownersResult{}},
		"HistoryResult":    {ownersVersion, historyResult{}},
		"SurveyResult":     {ownersVersion, surveyResult{}},
		"UnmanagedResult":  {apiVersion, unmanagedResult{}},
		"MigrationResult":  {apiVersion, migrationResult{}},
		"SetsResult":       {apiVersion, setsResult{}},
		"DeprecatedResult": {apiVersion, deprecatedResult{}},
		"PastResult":       {apiVersion, pastResult{}},
		"DeletionsResult":  {apiVersion, deletionsResult{}},
		"FightsResult":     {apiVersion, fightsResult{}},
		"UnreadyResult":    {apiVersion, unreadyResult{}},
		"ReleasesResult":   {apiVersion, releasesResult{}},
		schemas.Stream:     {"", streamLine{}},
	} {
		constant := kind
		if tt.version == "" {
			constant = ""
		}
		schema, err := g.Of(kind, constant, tt.version, tt.document)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(schema); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, "docs", "schemas", kind+".json")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil { //nolint:gosec // a published file
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(got), want.String()); diff != "" {
			t.Errorf("%s is not that of the type (go test ./pkg/output/document -run Schemas -update):\n%s", path, diff)
		}
	}
}
