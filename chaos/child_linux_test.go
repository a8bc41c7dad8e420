package chaos

import "syscall"

// childAttributes lets a gateway die with a test that is killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
