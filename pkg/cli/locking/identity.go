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
	const long = 60
	who := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		who = cmp.Or(u.Username, who)
	}
	host, _ := os.Hostname() // The rest still identifies a process without a host name.
	return lock.Identity{
		Holder: fmt.Sprintf("%s@%s pid %d %s", text.Truncate(text.Printable(cmp.Or(who, "?")), long),
			text.Truncate(text.Printable(cmp.Or(host, "?")), long), os.Getpid(), c.Process()),
		Run: run,
	}
}
