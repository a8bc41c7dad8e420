package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"agentgw/gateway"
	"agentgw/policy"
)

// tools: whether every MCP server offers what was approved, for what a model reads in a tool's description it may do. Those that approve
// names are approved as they are now.
func (d *doctor) tools(approve []string) error {
	servers := names(d.c.upstreams)
	servers = slices.DeleteFunc(servers, func(name string) bool { return d.c.upstreams[name].MCP == nil })
	for _, name := range approve {
		if !slices.Contains(servers, name) {
			return usagef("--approve-tools: %s has no MCP server %q; %s", d.c.file, name, cmp.Or(policy.DidYouMean(name, servers), "name an upstream that has mcp"))
		}
	}
	approvals := d.c.approvals()
	for _, server := range servers {
		definitions, err := gateway.MCPTools(d.ctx, d.c.upstreams[server])
		if err != nil {
			if slices.Contains(approve, server) {
				return fmt.Errorf("the tools of %s cannot be approved: they cannot be listed: %w", server, err)
			}
			d.say(levelUnknown, "server "+server, "", "its tools cannot be listed: %v", err)
			continue
		}
		now := gateway.NewToolSums(definitions)
		if slices.Contains(approve, server) {
			if err := approvals.Approve(server, now); err != nil {
				return fmt.Errorf("the tools of %s cannot be approved: %w", server, err)
			}
		}
		d.compare(approvals, server, now, descriptions(definitions))
	}
	return nil
}

// compare says of each tool of a server whether it is as approved.
func (d *doctor) compare(approvals *gateway.Approvals, server string, now gateway.ToolSums, says map[string]string) {
	mend := approvals.Mend(server)
	approved, err := approvals.Of(server)
	if err != nil {
		d.say(levelUnsafe, "server "+server, mend, "changes of its tools are not noticed: %v", err)
		return
	}
	if approved == nil && len(now) > 0 {
		d.say(levelWarning, "server "+server, mend, "nobody has approved its tools: the gateway will trust those that it sees first")
	}
	changed := map[string]bool{}
	for _, c := range now.Changes(approved, true) {
		changed[c.Tool] = true
		switch about := "tool " + server + "/" + c.Tool; {
		case approved == nil:
			d.say(levelUnknown, about, "", "not approved yet, sha256 %s", c.Now)
		case c.Approved == "":
			d.say(levelUnsafe, about, mend, "it is new since the tools of %s were approved, sha256 %s: %s", server, c.Now, says[c.Tool])
		case c.Now == "":
			d.say(levelWarning, about, mend, "it was approved, sha256 %s, and is not offered any more", c.Approved)
		default:
			d.say(levelUnsafe, about, mend, "it has changed since it was approved, sha256 %s, approved %s: %s", c.Now, c.Approved, says[c.Tool])
		}
	}
	for _, tool := range names(now) {
		if !changed[tool] {
			d.say(levelFine, "tool "+server+"/"+tool, "", "as approved, sha256 %s", now[tool])
		}
	}
}

// descriptions are what the tools say of themselves, in a form that a terminal may be shown.
func descriptions(definitions []json.RawMessage) map[string]string {
	const long = 300
	says := map[string]string{}
	for _, raw := range definitions {
		var tool struct{ Name, Description string }
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		text := []rune(tool.Description)
		if len(text) > long {
			says[tool.Name] = fmt.Sprintf("%q…", string(text[:long]))
		} else {
			says[tool.Name] = fmt.Sprintf("%q", tool.Description)
		}
	}
	return says
}
