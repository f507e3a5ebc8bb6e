// Package migration_test checks that a tool that migrates from client-side to server-side apply
// takes nothing from any manager (edge case 97): each tool migrates whole corpora of real manifests
// while two replicas of the webhook watch. There is no warning, record or Event.
package migration_test
