//go:build unix

package gateway

import (
	"errors"
	"syscall"
)

// canBeQuiet: of an idle connection it can be told whether it is still one.
const canBeQuiet = true

// quiet reports whether nothing has come on an idle connection, neither its end nor a byte that nobody asked for.
func (c *plainConn) quiet() bool {
	var err error
	var b [1]byte
	looked := c.raw.Read(func(fd uintptr) bool {
		_, err = syscall.Read(int(fd), b[:])
		return true
	})
	return looked == nil && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK))
}
