// Package plugin makes a test binary act as the plugin, under the plugin's name, so that
// the tests run what was just compiled.
//
//	testscript.Main(m, map[string]func(){"kubectl-k8sconnect": plugin.Main})
package plugin

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
)

// Main is the main function of the plugin.
func Main() {
	out, errOut := &checked{Writer: os.Stdout}, &checked{Writer: os.Stderr}
	os.Exit(cli.Main(cli.UntilStopped(context.Background()), os.Args,
		genericiooptions.IOStreams{In: os.Stdin, Out: out, ErrOut: errOut}))
}

// HeedSignals lets plugins that are started from now on heed the signals of a
// terminal, although we may have been started with those ignored (nohup, a job in
// the background), and would hand that on.
func HeedSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
