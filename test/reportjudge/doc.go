// Package reportjudge compares what the plugin's runs reported with what the API server's audit log
// says that they did. It reads the printed reports itself, and shares no code with the plugin.
//
// A test binary that acts as the plugin leaves a [Record] of each run in a folder; its TestMain
// judges them at the end:
//
//	os.Exit(shared.Main(reportjudge.Runner{M: m, Shared: &shared}))
package reportjudge
