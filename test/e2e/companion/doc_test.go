// Package companion_test checks what the webhook reports and records when real programs
// write: Helm, kubectl, the controllers of Kubernetes. The webhook is the program,
// installed by the chart.
package companion_test
