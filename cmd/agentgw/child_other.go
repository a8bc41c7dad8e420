//go:build !linux

package main

import "syscall"

// diesWithParent asks for nothing: only Linux can do that.
func diesWithParent() *syscall.SysProcAttr { return nil }
