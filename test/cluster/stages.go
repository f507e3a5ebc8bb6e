package cluster

import (
	"bytes"
	_ "embed" // The stage is a file.
	"os"
	"path/filepath"
)

// stagesDir is the folder beside the binaries with kwok's stage files.
const stagesDir = "kwok-stages"

//go:embed provision.yaml
var provision []byte

// kwokStages makes kwok's configuration from those of its stage files that make
// everything happen at once: nodes and pods become ready, jobs complete, and deleted
// objects go. Claims get volumes by a stage of our own.
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
