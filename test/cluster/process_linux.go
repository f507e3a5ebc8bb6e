package cluster

import "syscall"

// dieWithParent makes the kernel kill the child when the thread that started it ends, for whatever
// reason.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
