package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"agentgw/canonicalize"
)

// ToolSums are the SHA-256 of tools' definitions, by tool.
type ToolSums map[string]string

// NewToolSums makes the sums of a list of definitions. A name that stands in it twice has a sum of both: neither may hide behind the other.
func NewToolSums(definitions []json.RawMessage) ToolSums {
	sums := ToolSums{}
	for _, raw := range definitions {
		var tool struct{ Name string }
		if json.Unmarshal(raw, &tool) == nil && tool.Name != "" {
			sums.add(tool.Name, toolSum(raw))
		}
	}
	return sums
}

func (s ToolSums) add(tool, sum string) {
	if before, twice := s[tool]; twice {
		sum = hexSum([]byte(before + sum))
	}
	s[tool] = sum
}

// toolSum is the SHA-256 of all that a definition says, whatever the order of its members. What cannot be read strictly (nested too deeply,
// members twice) counts byte for byte.
func toolSum(definition []byte) string {
	v, err := canonicalize.Parse(definition)
	if err != nil {
		return hexSum(definition)
	}
	return hexSum(v.AppendCanonical(make([]byte, 0, len(definition))))
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ToolChange is a tool that is not as it was approved.
type ToolChange struct {
	Tool     string
	Approved string // its sum; "" for a tool that is new
	Now      string // "" for a tool that is not offered any more
}

// Changes are the tools that are not as approved, by name. all: these are all tools of the server, so that one that is missing is gone.
func (s ToolSums) Changes(approved ToolSums, all bool) (changes []ToolChange) {
	names := slices.Collect(maps.Keys(s))
	for name := range approved {
		if s[name] == "" && all {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if s[name] != approved[name] {
			changes = append(changes, ToolChange{name, approved[name], s[name]})
		}
	}
	return changes
}

// Approvals remember which definitions of MCP servers' tools were approved, for what a model reads in them decides what it does. What a
// server offers first is trusted; what differs later is raised until somebody approves it. The zero value remembers nothing beyond this
// process.
type Approvals struct {
	Folder string                     // one file for each server, which gateways may share and which belongs to the configuration; "": none
	Mend   func(server string) string // how somebody approves what a server offers now, to be said in the log; may be nil

	mu   sync.Mutex
	here map[string]ToolSums // of servers whose file cannot be written
}

// File is where the sums of a server's tools are kept.
func (a *Approvals) File(server string) string { return filepath.Join(a.Folder, server+".json") }

// Of are the approved sums of a server's tools; nil where none were approved yet.
func (a *Approvals) Of(server string) (ToolSums, error) {
	if a.Folder != "" {
		b, err := os.ReadFile(a.File(server))
		if err == nil {
			return readToolSums(a.File(server), b)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.here[server], nil
}

func readToolSums(file string, b []byte) (ToolSums, error) {
	var sums ToolSums
	err := json.Unmarshal(b, &sums)
	if err == nil && sums == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s holds no tools and their SHA-256: %w; put it back as it was, or approve the tools again", file, err)
	}
	return sums, nil
}

// Approve makes sums the approved ones.
func (a *Approvals) Approve(server string, sums ToolSums) error {
	return a.write(server, sums, os.Rename)
}

// trust approves what a server offers first, and returns what is approved now: where another process was first, its word stands.
func (a *Approvals) trust(server string, sums ToolSums) (ToolSums, error) {
	if a.Folder == "" {
		a.keepHere(server, sums)
		return sums, nil
	}
	if err := a.write(server, sums, first); err != nil {
		a.keepHere(server, sums)
		return nil, err
	}
	return a.Of(server)
}

// first puts a file where none is; one that is there stands. Where the file system cannot tell, the last one stands.
func first(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return os.Rename(from, to)
}

func (a *Approvals) keepHere(server string, sums ToolSums) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.here == nil {
		a.here = map[string]ToolSums{}
	}
	a.here[server] = sums
}

// write writes a server's file whole, under another name, and puts it into its place.
func (a *Approvals) write(server string, sums ToolSums, put func(from, to string) error) error {
	b, err := json.MarshalIndent(sums, "", "  ") // sorted by tool
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.Folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(a.Folder, "*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // where it was renamed, it is not there any more
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return put(f.Name(), a.File(server))
}

// maxRaised is how many changed tools of one list are named in the log.
const maxRaised = 20

// review compares a list of tools with what was approved, and says what differs: whoever approved a tool approved other words. all: these
// are all tools of the server.
func (m *MCP) review(s *mcpServer, sums ToolSums, all bool) {
	approved, err := m.Approvals.Of(s.name)
	switch {
	case err != nil:
		s.log.Error("what was approved of its tools cannot be read: changes are not noticed", "error", err)
		return
	case len(sums) > maxTools:
		s.log.Warn("it offers more tools than can be approved: changes are not noticed", "tools", len(sums), "at_most", maxTools)
		return
	case approved == nil && all && len(sums) > 0:
		approved = m.trust(s, sums)
	}
	if approved == nil {
		return
	}
	mend := ""
	if m.Approvals.Mend != nil {
		mend = m.Approvals.Mend(s.name)
	}
	changes := sums.Changes(approved, all)
	for i, c := range changes {
		if i == maxRaised {
			s.log.Warn("MORE TOOLS ARE NOT AS APPROVED", "count", len(changes)-i, "approve", mend)
			break
		}
		s.log.Warn(c.what(), "tool", c.Tool, "sha256", c.Now, "approved", c.Approved, "approve", mend)
	}
}

// trust approves what a server offers first, and says so. It returns what is approved now.
func (m *MCP) trust(s *mcpServer, sums ToolSums) ToolSums {
	approved, err := m.Approvals.trust(s.name, sums)
	switch {
	case err != nil:
		s.log.Warn("its tools are trusted as they are now, and remembered in this process only", "tools", len(sums), "error", err)
	case m.Approvals.Folder != "" && maps.Equal(approved, sums):
		s.log.Info("its tools are trusted as they are now, and changes will be raised", "tools", len(sums), "file", m.Approvals.File(s.name))
	}
	return approved
}

func (c ToolChange) what() string {
	switch {
	case c.Approved == "":
		return "A TOOL IS NEW since the server's tools were approved: look at it before agents use it"
	case c.Now == "":
		return "a tool that was approved is not offered any more"
	}
	return "A TOOL HAS CHANGED since it was approved: look at its description before agents go on using it"
}
