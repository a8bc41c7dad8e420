package redistest

import "syscall"

// childAttributes lets a server die with a test that is killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
