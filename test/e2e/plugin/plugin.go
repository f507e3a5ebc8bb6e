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
	"github.com/k8sconnect/kubectl-k8sconnect/test/reportjudge"
)

// Main is the main function of the plugin. Package reportjudge records its report.
func Main() {
	recorder := reportjudge.Begin()
	out, errOut := recorder.Writers(&checked{Writer: os.Stdout}, &checked{Writer: os.Stderr})
	os.Exit(recorder.End(cli.Main(cli.UntilStopped(context.Background()), os.Args,
		genericiooptions.IOStreams{In: os.Stdin, Out: out, ErrOut: errOut})))
}

// HeedSignals makes plugins that are started later react to a terminal's signals, even if this
// process was started with them ignored (nohup, a background job), which it would pass on.
func HeedSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
