// Package stories_test contains stories of cluster operators on the real control plane, one a file.
// Each follows the order of events, and each fault lasts until its effect is seen, never for a
// fixed time.
package stories_test
