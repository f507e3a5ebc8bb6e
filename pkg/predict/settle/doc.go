// Package settle answers from the live object alone whether applying a manifest needs the
// server: [Settled] and [Clear] are promises, [Doubtful] means that only a dry run knows.
package settle
