// Command release makes and checks what is published for a tag: make release calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/k8sconnect/kubectl-k8sconnect/test/release"
)

const usage = `usage: release [-dist FOLDER] [-platforms 'OS/ARCH …'] archives | notices | checksums | ready | tagged

  archives   pack what make binaries built: archives, SBOMs, krew's manifest
  notices    write the notices of the programs that make binaries built, for images
  checksums  write the checksums of all files in the folder
  ready      check that krew's manifest can be made: version, history, and a clean tree
  tagged     check that the tree is ready for a tag of this version: manifest, change log, chart
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	dist := flags.String("dist", "dist", "")
	words := flags.String("platforms", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	platforms := release.Platforms()
	if *words != "" {
		var err error
		if platforms, err = release.ParsePlatforms(*words); err != nil {
			return err
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	stamp, err := release.ReadStamp(ctx, root)
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "archives":
		if err := release.CheckWhole(ctx, root); err != nil {
			fmt.Fprintln(os.Stderr, "release: warning:", err)
		}
		return release.Archives(ctx, root, *dist, platforms, stamp)
	case "notices":
		return release.Notices(ctx, root, *dist, platforms)
	case "checksums":
		return release.Checksums(*dist, stamp)
	case "tagged":
		return release.CheckTagged(ctx, root, *dist, stamp)
	case "ready":
		return release.CheckReady(ctx, root, stamp)
	default:
		flags.Usage()
		return errors.New("no command given")
	}
}
