package cluster

// Options say what Start starts. The zero value is the smallest cluster that
// answers: etcd and kube-apiserver, enough for server-side apply.
type Options struct {
	// Controllers adds kube-controller-manager and kube-scheduler: deployments
	// get pods, namespaces go away, service accounts get tokens.
	Controllers bool

	// Nodes adds kwok with that many nodes, and the controllers with it: pods
	// are scheduled and become ready, claims get volumes. 1 is everything.
	Nodes int

	// Dir is the cluster's folder: certificates, kubeconfigs, data, logs. It must
	// not hold anything yet, and stays after Stop. By default, a temporary
	// folder that Stop removes.
	Dir string

	// Binaries is a folder with the programs, in place of what Build made.
	Binaries string

	// AuditLog, if set, is the file into which the API server writes one JSON
	// event a request (level Metadata). A relative path is below Dir.
	AuditLog string

	// APIServerArgs are added to the API server's command line, after all others.
	APIServerArgs []string
}

func (o Options) controllers() bool { return o.Controllers || o.Nodes > 0 }
