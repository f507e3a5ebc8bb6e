package cluster

import (
	"bytes"
	"os"
	"path/filepath"
)

// stagesFile is kwok's configuration: what happens to nodes, pods and volumes.
const stagesFile = "kwok-stages.yaml"

// writeStages joins the stage files of the kwok module that make everything
// happen at once: nodes and pods become ready, jobs complete, what is deleted
// goes, and claims get volumes.
func writeStages(from, to string) error {
	var all bytes.Buffer
	for _, name := range []string{
		"node/fast/node-initialize.yaml",
		"node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		"pod/fast/pod-ready.yaml",
		"pod/fast/pod-complete.yaml",
		"pod/fast/pod-delete.yaml",
		"volume/fast/pv-bind.yaml",
		"volume/fast/pv-delete.yaml",
		"volume/fast/pvc-provision.yaml",
		"volume/fast/pvc-delete.yaml",
	} {
		content, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		all.WriteString("---\n")
		all.Write(content)
	}
	return os.WriteFile(to, all.Bytes(), 0o644)
}
