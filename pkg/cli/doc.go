// Package cli is the verbs, one file each: Flags hold what was typed, toOptions reads it once
// into values, Execute does the work by handing real clients and printers to an engine.
//
//	status := cli.Main(ctx, os.Args, streams)
//
// It decides nothing about objects; that is what the packages below it are for. What several
// verbs read from the command line lies in rooms of its own: input, target, choices, await;
// and what each verb runs in, in verb.
package cli
