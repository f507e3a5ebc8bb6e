package wait

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/await"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/config"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait/timelimit"
)

type waitFlags struct {
	target     target.Flags
	hang       await.HangFlags
	times      await.TimesFlag
	config     config.Flags
	conditions []string
	any        bool
	failOn     []string
	timeout    time.Duration
	existence  time.Duration
	output     string
	explain    string
	local      bool
}

type waitOptions struct {
	targets target.Targets
	goal    *wait.Goal
	engine  wait.Engine
	hanging await.Hanging
	limits  timelimit.Limits
	timeout time.Duration
	run     string
	out     *printer.Printer
	rules   *condition.Set
	isLocal bool
}
