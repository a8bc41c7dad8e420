package main

import (
	"fmt"

	"agentgw/policy"
)

type policySuggestCmd struct {
	Tools string `required:"" help:"Tools as tool lists write them, one JSON object a line." placeholder:"TOOLS.jsonl"`
	Calls string `help:"Observed calls, {\"id\", \"tool\", \"args\", \"task\", \"run\"} a line: they show what varies." placeholder:"CALLS.jsonl"`
}

// Help is shown by `agentgw policy suggest --help`.
func (policySuggestCmd) Help() string {
	return "The draft goes to standard output. Every field has a comment that says why; read it, change it, and keep it under version control.\n\n" +
		"The schemas of a running gateway: curl -s http://127.0.0.1:8080/v1/tools?format=mcp | jq -c '.tools[]' > tools.jsonl"
}

// Run drafts a policy.
func (c *policySuggestCmd) Run(a *app) error {
	tools, err := readTools(c.Tools)
	if err != nil {
		return err
	}
	var calls []policy.ObservedCall
	if c.Calls != "" {
		if calls, err = readCalls(c.Calls); err != nil {
			return err
		}
	}
	draft, err := policy.Suggest(tools, calls, nil)
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(map[string]string{"policy": string(draft.YAML())})
	}
	_, err = fmt.Fprintf(a.stdout, "%s", draft.YAML())
	return err
}
