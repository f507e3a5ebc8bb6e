package locking

import (
	"cmp"
	"fmt"
	"os"
	"os/user"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// identity identifies this run to a person who finds its lock at night: the user or
// account, the machine or Pod, the process. No two processes have the same.
func identity(c *connection.Connection, run string) lock.Identity {
	return lock.Identity{Holder: fmt.Sprintf("%s pid %d %s", Who(), os.Getpid(), c.Process()), Run: run}
}

// Who is the person or account, and the machine or Pod.
func Who() string {
	const long = 60
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	host, _ := os.Hostname() // A process without one is still told by the rest.
	return text.Truncate(text.Printable(cmp.Or(name, "?")), long) + "@" + text.Truncate(text.Printable(cmp.Or(host, "?")), long)
}
