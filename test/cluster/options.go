package cluster

// Options select the programs that Start starts. The zero value is the smallest cluster, etcd and
// kube-apiserver, which is enough for server-side apply.
type Options struct {
	// Controllers adds kube-controller-manager and kube-scheduler: deployments get pods,
	// terminating namespaces are removed, service accounts get tokens.
	Controllers bool

	// Nodes adds that many kwok nodes, and the controllers: pods are scheduled and become ready,
	// claims get volumes. 1 starts all programs.
	Nodes int

	// Dir is the cluster's folder for certificates, kubeconfigs, data and logs. It must not contain
	// a cluster, and Stop keeps it. By default, it is a temporary folder that Stop removes.
	Dir string

	// Binaries is the folder of the programs; empty for the folder of Build.
	Binaries string

	// AuditLog is the file for the API server's audit log, one JSON event a request (level
	// Metadata); empty for none. A relative path is below Dir.
	AuditLog string

	// Durable makes etcd wait for the disk at each write, as in production. Tests need not: nothing that they
	// store must survive a power failure.
	Durable bool

	// APIServerArgs are appended to the API server's arguments.
	APIServerArgs []string

	// ControllerArgs are appended to the controller manager's arguments.
	ControllerArgs []string
}

func (o Options) controllers() bool { return o.Controllers || o.Nodes > 0 }
