package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"agentgw/canonicalize"
)

// away says in plain words that a server cannot be reached; err may hold its address, which is not for every caller.
func (s *mcpServer) away(err error) string {
	return fmt.Sprintf("The MCP server %s cannot be reached now: %s. Try again later.", s.name, plainCause(err))
}

// plainCause says why a server cannot be reached, without its address or its command's arguments: they may hold secrets.
func plainCause(err error) string {
	var program *exec.Error
	var file *fs.PathError
	var exit *exec.ExitError
	var name *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &program):
		return "its command " + program.Name + " is not found"
	case errors.As(err, &file):
		return "its command cannot be started (" + file.Err.Error() + ")"
	case errors.As(err, &exit):
		return "its process ended (" + exit.ProcessState.String() + ")"
	case errors.Is(err, errEnded):
		return "its process ended"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at its address"
	case errors.As(err, &name):
		return "its host name is not known"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "it does not answer in time"
	}
	return "it does not answer as an MCP server does"
}

// away says which servers' tools could not be listed when they were last asked for, and why; "" where all could.
func (m *MCP) away() string {
	if m == nil {
		return ""
	}
	var all []string
	for _, s := range m.servers {
		s.mu.Lock()
		if s.unlisted != nil {
			all = append(all, fmt.Sprintf("the MCP server %s (%s)", s.name, plainCause(s.unlisted)))
		}
		s.mu.Unlock()
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "The tools of " + strings.Join(all, " and of ") + " cannot be listed now. Try again later."
}

// listAny is tools/list at the door of all servers. A list without the tools of a server that is away says so; an empty one is an error.
func (d *doors) listAny(m *mcpRequest) {
	list := d.listAll(m)
	result := map[string]any{"tools": list}
	if away := d.mcp.away(); away != "" {
		if len(list) == 0 {
			m.out.fail(m.id, http.StatusOK, &rpcError{code: codeInternal, message: away})
			return
		}
		result["_meta"] = map[string]any{"agentgw/detail": away}
	}
	m.result(result)
}

// noTool says that there is no tool of a name: perhaps there will be, or another one is meant.
func noTool(name string, known []string, mcp *MCP) string {
	if away := mcp.away(); away != "" {
		return "There is no tool " + name + " among those known now. " + away
	}
	if near := canonicalize.Nearest(strings.Trim(name, `"`), known); near != "" {
		return "There is no tool " + name + ". Did you mean " + near + "?"
	}
	return "There is no tool " + name + "."
}
