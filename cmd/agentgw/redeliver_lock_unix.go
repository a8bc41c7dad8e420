//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// openAlone opens a file for this process alone; errInUse where another has it.
func openAlone(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errInUse
		}
		return nil, err
	}
	return f, nil
}
