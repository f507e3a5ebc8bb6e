// Command etcd is the etcd server. Its module publishes the server as a
// library only; the command upstream lives outside of it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
