// Package cli holds the verbs, one file each: Flags hold what was typed, toOptions parses
// it once into values, Execute does the work by handing real clients and printers to an
// engine.
//
//	status := cli.Main(ctx, os.Args, streams)
//
// It decides nothing about objects; the packages below it do. The flags that several verbs read
// have packages of their own: input, target, waitcmd; package verb is the frame in which each verb
// runs.
package cli
