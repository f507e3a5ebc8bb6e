package cluster

import (
	"bytes"
	_ "embed" // The stage is a file.
	"os"
	"path/filepath"
)

// stagesDir is the folder of kwok's stage files, next to the binaries.
const stagesDir = "kwok-stages"

//go:embed provision.yaml
var provision []byte

// kwokStages returns kwok's configuration, from the stage files that act at once: nodes and pods
// become ready, jobs complete, and deleted objects are removed. A stage of our own provisions
// volumes for claims.
func kwokStages(dir string) ([]byte, error) {
	var all bytes.Buffer
	all.Write(provision)
	for _, name := range []string{
		"node/fast/node-initialize.yaml",
		"pod/fast/pod-ready.yaml",
		"pod/fast/pod-complete.yaml",
		"pod/fast/pod-delete.yaml",
		"volume/fast/pv-delete.yaml",
		"volume/fast/pvc-delete.yaml",
	} {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(content)
	}
	return all.Bytes(), nil
}
