// Package cli holds the verbs, one file each: Flags hold what was typed, toOptions parses
// it once into values, Execute does the work by handing real clients and printers to an
// engine.
//
//	status := cli.Main(ctx, os.Args, streams)
//
// It decides nothing about objects; the packages below it do. What several verbs read
// from the command line has packages of its own: input, target, choices, await; and
// package verb is the frame in which each verb runs.
package cli
