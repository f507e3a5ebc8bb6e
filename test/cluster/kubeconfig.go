package cluster

import (
	"fmt"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// RESTConfig returns a client configuration for the administrator, without
// client-side rate limit.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.KubeconfigPath)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// Kubeconfig writes the administrator's kubeconfig with another server address, such as a proxy's,
// and returns its path.
func (c *Cluster) Kubeconfig(serverURL string) (string, error) {
	config, err := clientcmd.LoadFromFile(c.KubeconfigPath)
	if err != nil {
		return "", err
	}
	context, ok := config.Contexts[config.CurrentContext]
	if !ok || config.Clusters[context.Cluster] == nil {
		return "", fmt.Errorf("%s: no current context", c.KubeconfigPath)
	}
	server := config.Clusters[context.Cluster]
	if c.External() && server.TLSServerName == "" {
		// The server's certificate does not name the proxy.
		was, err := url.Parse(server.Server)
		if err != nil {
			return "", err
		}
		server.TLSServerName = was.Hostname()
	}
	server.Server = serverURL
	return c.write(config, "admin")
}

// KubeconfigFor writes a kubeconfig with a client certificate for a user in groups, and returns its
// path. A new user may only inspect itself; the group system:masters may do everything.
func (c *Cluster) KubeconfigFor(user string, groups ...string) (string, error) {
	if c.External() {
		return "", errExternal
	}
	pair, err := c.pki.ca.client(user, groups...)
	if err != nil {
		return "", err
	}
	config := api.NewConfig()
	config.Clusters["cluster"] = &api.Cluster{
		Server:                   c.URL,
		CertificateAuthorityData: c.pki.ca.pair.cert,
	}
	config.AuthInfos[user] = &api.AuthInfo{
		ClientCertificateData: pair.cert,
		ClientKeyData:         pair.key,
	}
	config.Contexts["cluster"] = &api.Context{Cluster: "cluster", AuthInfo: user}
	config.CurrentContext = "cluster"
	return c.write(config, "user")
}

// write writes a kubeconfig to a new file.
func (c *Cluster) write(config *api.Config, name string) (string, error) {
	c.mu.Lock()
	c.names++
	path := filepath.Join(c.Dir, fmt.Sprintf("%s-%d.kubeconfig", name, c.names))
	c.mu.Unlock()
	return path, clientcmd.WriteToFile(*config, path)
}

// writeAdmin creates the administrator's kubeconfig and the harness's own client.
func (c *Cluster) writeAdmin() error {
	path, err := c.KubeconfigFor("kubernetes-admin", "system:masters")
	if err != nil {
		return err
	}
	c.KubeconfigPath = path
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	c.client, err = newAPIClient(config)
	return err
}
