package cluster

import "syscall"

// dieWithParent makes the kernel kill the child when the thread that started
// it ends, which it does whatever happens to this process.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
