// Package waitcmd is the verb wait: which objects, which conditions, and how long.
package waitcmd
