package e2e_test

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// expand replaces $VARIABLES in files, such as $NS in the names of objects that
// live in no namespace and must not meet those of other scripts:
//
//	expand crd.yaml offer.yaml
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE…")
	}
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}
