// Package cli is the verbs, one file each: Flags hold what was typed, ToOptions
// reads it once into values, Run does the work by handing real clients and
// printers to an engine.
//
//	status := cli.Main(ctx, os.Args, streams)
//
// It decides nothing about objects; that is what the packages below it are for.
package cli
