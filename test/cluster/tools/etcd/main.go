// Command etcd is the etcd server. Its module contains the server only as a library; upstream keeps
// the command in another module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
