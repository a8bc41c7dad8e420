//go:build !unix

package gateway

// canBeQuiet: it cannot be told whether an idle connection is still one; net/http carries everything.
const canBeQuiet = false

func (c *plainConn) quiet() bool { return false }
