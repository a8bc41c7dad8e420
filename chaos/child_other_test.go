//go:build !linux

package chaos

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
