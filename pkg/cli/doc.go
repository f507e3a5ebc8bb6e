// Package cli has the verbs, a file each: flags hold the command line, toOptions parses it once,
// Execute hands a client and a printer to an engine. Start with [Main]. Flags that several verbs
// read are in packages of their own (input, target, waitcmd). It decides nothing about objects.
package cli
