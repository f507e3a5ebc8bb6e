// Package migration_test holds that a tool which goes from client-side to server-side apply
// takes nothing from anybody (edge case 97): whole corpora of real manifests change
// hands inside one tool, two replicas of the webhook watch, and nothing is warned of,
// recorded or made an Event.
package migration_test
