package cli

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"k8s.io/klog/v2"
)

// libraries is the verbosity from which on the Kubernetes libraries log too. Below
// it, -v only makes results more detailed.
const libraries = 2

// logging sends what the Kubernetes libraries log to w, at that verbosity, but
// nothing below [libraries]: what matters of it reaches the user as an error of
// ours.
func logging(w io.Writer, verbosity int) error {
	logs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logs)
	if verbosity < libraries {
		w, verbosity = io.Discard, 0
	}
	for name, value := range map[string]string{
		"v":               strconv.Itoa(verbosity),
		"logtostderr":     "false",
		"alsologtostderr": "false",
		// Without this, errors go to the process's stderr as well.
		"stderrthreshold": "FATAL",
	} {
		if err := logs.Set(name, value); err != nil {
			return fmt.Errorf("log --%s=%s: %w", name, value, err)
		}
	}
	klog.SetOutput(w)
	return nil
}
