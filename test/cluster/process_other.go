//go:build unix && !linux

package cluster

import "syscall"

// dieWithParent does nothing: only Linux ties a child to its parent. After a SIGKILL of the owner,
// `controlplane down` finds the children by their pid files.
func dieWithParent(*syscall.SysProcAttr) {}
