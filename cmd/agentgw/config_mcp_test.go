package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestConfigMCPCommand: a command is taken word by word, also where it says the same twice.
func TestConfigMCPCommand(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	os.WriteFile(filepath.Join(dir, "agentgw.yaml"), []byte("ledger: \"memory:\"\nupstreams: {desk: {mcp: [docker, run, -e, A, -e, B]}}\n"), 0o600)
	c, err := loadConfig("agentgw.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.upstreams["desk"].MCP.Command; !slices.Equal(got, []string{"docker", "run", "-e", "A", "-e", "B"}) {
		t.Errorf("%q", got)
	}
}
