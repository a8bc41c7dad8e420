package main

import (
	"errors"
	"fmt"
	"os"

	"agentgw/policy"
)

type policyCmd struct {
	Lint    policyLintCmd    `cmd:"" help:"Check policies, and say what is allowed and probably not meant."`
	Test    policyTestCmd    `cmd:"" help:"Run policy tests: scripted calls in virtual time through the real pipeline."`
	Explain policyExplainCmd `cmd:"" help:"Show how a call is read: operation, fields, key and rule."`
	Suggest policySuggestCmd `cmd:"" help:"Draft a policy from tool schemas and observed calls."`
	Schema  policySchemaCmd  `cmd:"" help:"Print the JSON Schema of policy files, for editors."`
}

// policyFlags say which policy is meant: files, or those of a configuration.
type policyFlags struct {
	Policy []string `short:"p" help:"Policy file or folder; may be repeated." placeholder:"FILE"`
	Config string   `short:"c" help:"Configuration: its policies, or --policy, against its tools and upstreams." placeholder:"FILE"`
}

// load reads the policy. Without a configuration, tools and upstreams are not checked.
func (f *policyFlags) load(a *app) (*policy.Policy, *config, error) {
	if f.Config == "" && len(f.Policy) == 0 {
		return nil, nil, usagef("say which policy: --policy FILE, or --config %s", defaultConfig)
	}
	if f.Config == "" {
		if err := readable(f.Policy); err != nil {
			return nil, nil, err
		}
		p, err := policy.LoadFiles(f.Policy, policy.Env{AllowAll: true})
		return p, nil, err
	}
	c, err := loadConfig(f.Config, a.env)
	if err != nil || len(f.Policy) == 0 {
		if c == nil {
			return nil, nil, err
		}
		return c.policy, c, err
	}
	c.policy, err = policy.LoadFiles(f.Policy, c.policyEnv())
	return c.policy, c, err
}

// readable tells a file that is not there from one that does not load.
func readable(paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return usage(err)
		}
	}
	return nil
}

type policyLintCmd struct {
	Files  []string `arg:"" optional:"" help:"Policy files or folders. Without any, those of --config."`
	Config string   `short:"c" help:"Check against the tools and upstreams of this configuration." placeholder:"FILE"`
	Strict bool     `help:"Let warnings fail, too."`
}

// linted is one finding, for programs.
type linted struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Col      int    `json:"column,omitempty"`
	Severity string `json:"severity"` // error: does not load; warning: loads and is probably not meant
	Message  string `json:"message"`
	Remedy   string `json:"remedy,omitempty"`
}

// Run writes all findings; errors fail, warnings only with --strict.
func (c *policyLintCmd) Run(a *app) error {
	if len(c.Files) == 0 && c.Config == "" {
		return usagef("say which policy: a file or folder, or --config %s", defaultConfig)
	}
	files := policyFlags{Policy: c.Files, Config: c.Config}
	p, _, err := files.load(a)
	var broken policy.Errors
	if err != nil && !errors.As(err, &broken) {
		return err
	}
	found := []linted{}
	add := func(severity string, f policy.Finding) {
		found = append(found, linted{f.File, f.Line, f.Col, severity, f.Message, f.Remedy})
		if !a.json {
			fmt.Fprintf(a.stdout, "%s: %s\n", severity, f)
		}
	}
	for _, f := range broken {
		add("error", f)
	}
	warnings := 0
	if err == nil {
		for _, f := range policy.Lint(p) {
			add("warning", f)
			warnings++
		}
	}
	if a.json {
		if err := a.writeJSON(map[string]any{"ok": len(broken) == 0 && (warnings == 0 || !c.Strict), "findings": found}); err != nil {
			return err
		}
	} else if len(broken) == 0 {
		fmt.Fprintf(a.stdout, "%s, %s\n", count(len(p.Operations), "operation"), count(warnings, "warning"))
	}
	if len(broken) > 0 || c.Strict && warnings > 0 {
		return &checkFailed{}
	}
	return nil
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

type policySchemaCmd struct{}

// Run prints the schema; it is JSON either way.
func (policySchemaCmd) Run(a *app) error {
	text, err := policy.Schema()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s\n", text)
	return nil
}
