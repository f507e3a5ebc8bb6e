// Package memory says how much memory this process may take: what its container allows, of
// which a part stays for what the collector does not count.
package memory
