// Package companion runs the webhook's program beside a control plane of package cluster, as the
// chart installs it: start with [Install] and [Companion.Start]. The process has the arguments and
// the permissions that the chart gives it. No pod runs, and a balancer replaces the Service.
package companion
