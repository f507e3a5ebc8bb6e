// Package companion_test checks the webhook's warnings and records for writes of real programs:
// Helm, kubectl, and Kubernetes' controllers. The webhook runs as the program, installed by the
// chart.
package companion_test
