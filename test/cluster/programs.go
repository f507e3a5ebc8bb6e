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

// packageOf is the package that a program of the control plane is built from, in the
// tools module.
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

// Programs are those that the options need: those that Start runs, and kubectl for users
// of the cluster.
func (o Options) Programs() []string {
	needed := smallest()
	if o.controllers() {
		needed = append(needed, controllerManager, scheduler)
		if runtime.GOOS == "linux" { // The server needs threads with working folders of their own.
			needed = append(needed, kubectlClient, kubectlServer)
		}
	}
	if o.Nodes > 0 {
		needed = append(needed, kwok)
	}
	return needed
}

// smallest lists the programs of the smallest cluster. They are also those in
// kubebuilder's folders.
func smallest() []string { return []string{etcd, apiServer, kubectlProgram} }

// isSmallest reports whether the options need no more than that.
func (o Options) isSmallest() bool { return slices.Equal(o.Programs(), smallest()) }
