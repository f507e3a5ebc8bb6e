package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/pages"
)

// verbNothing makes the program the webhook that does nothing: ADDRESS CERT KEY.
const verbNothing = "nothing"

var errWrong = errors.New("something is wrong, not only slow")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errWrong):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "admission:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 4 && args[0] == verbNothing {
		return nothing(ctx, args[1], args[2], args[3])
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "admission-*.log")
	if err != nil {
		return err
	}
	o.log = log
	r := &results{started: time.Now()}
	err = costs(ctx, o, r)
	if err == nil && o.tracked > 0 {
		err = remember(ctx, o, r)
	}
	var text bytes.Buffer
	r.report(&text)
	_, writeErr := os.Stdout.Write(text.Bytes())
	err = errors.Join(err, writeErr)
	if err == nil && o.pages != "" {
		err = pages.Fill([]string{filepath.Join(o.pages, "webhook.md")}, map[string]string{"webhook": text.String()})
	}
	if err == nil && len(r.failures) > 0 {
		err = errWrong
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "what the webhook said is in", log.Name())
		return err
	}
	return errors.Join(log.Close(), os.Remove(log.Name()))
}
