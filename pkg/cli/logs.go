package cli

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"k8s.io/klog/v2"
)

// logging sends what the Kubernetes libraries log to w, at that verbosity; at 0,
// nothing: what matters of it reaches the user as an error of ours.
func logging(w io.Writer, verbosity int) error {
	logs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logs)
	if verbosity == 0 {
		w = io.Discard
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
