package cluster

import (
	"runtime"
	"slices"
)

const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	kubectlProgram    = "kubectl"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
	kubectlClient     = "kubectlclient"
	kubectlServer     = "kubectlserver"
)

// packageOf returns the package, in the tools module, that a program is built from.
func packageOf(program string) string {
	switch program {
	case etcd, kubectlClient, kubectlServer:
		return "./" + program
	case kwok:
		return "sigs.k8s.io/kwok/cmd/kwok"
	default:
		return "k8s.io/kubernetes/cmd/" + program
	}
}

// Programs returns the programs that the options need: those that Start runs, and kubectl for users
// of the cluster.
func (o Options) Programs() []string {
	needed := smallest()
	if o.controllers() {
		needed = append(needed, controllerManager, scheduler)
		if runtime.GOOS == "linux" { // The server needs a working folder for each thread.
			needed = append(needed, kubectlClient, kubectlServer)
		}
	}
	if o.Nodes > 0 {
		needed = append(needed, kwok)
	}
	return needed
}

// smallest returns the programs of the smallest cluster, which kubebuilder also installs.
func smallest() []string { return []string{etcd, apiServer, kubectlProgram} }

// isSmallest reports whether the options need only these programs.
func (o Options) isSmallest() bool { return slices.Equal(o.Programs(), smallest()) }
