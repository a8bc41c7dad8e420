package main

import (
	"fmt"

	"agentgw/ledger"
	"agentgw/ledger/redisstore"
	"agentgw/simulate"
)

type policyTestCmd struct {
	Files   []string `arg:"" help:"Files of policy tests."`
	Ledger  string   `help:"Run the cases that need no virtual time on this ledger, in real time: file:PATH, redis://… or env:NAME." placeholder:"URL"`
	Verbose bool     `short:"v" help:"Show every call of every case."`
}

// Help is shown by `agentgw policy test --help`: a whole test, to copy from.
func (policyTestCmd) Help() string {
	return `A test is a file of cases. Time is virtual, the pipeline is the real one, the upstream follows the script:

    policy: billing.yaml        # beside this file; or entities: and operations: inline, here or on a case
    cases:
      - name: an agent plans the invoice anew after its own deadline
        effects: 1              # exactly so many happened; or max_effects: 1
        steps:
          - at: 0s
            id: first
            tool: create_invoice
            arguments: {customer_id: C-17, month: 2026-11, amount: "120.00"}
            upstream: {answer: ok, takes: 33s, body: {invoice: INV-1}}
            hang_up: 30s        # the caller goes away
            expect: executed
          - at: 31s
            tool: create_invoice
            arguments: {amount: 120, month: "November 2026", customer_id: C-17, note: again}
            expect: in_flight
          - at: 40s
            tool: create_invoice
            arguments: {customer_id: C-17, month: 2026-11, amount: "120.00"}
            expect: {decision: replayed, same_answer_as: first}
          - {at: 50s, event: gateway_dies}

answer: ok, http_NNN, timeout, reset, refused, ok_unsaved. event: gateway_dies, gateway_dies_before_send, ledger_down, ledger_up, failover,
pause, resume, resolve_succeeded, resolve_failed, void. A step may also have tenant, principal, context, idempotency_key, mode, raw, http,
repeat_of. expect may also name distinct, fields, reason, outcome, state and sends.

The exit code is 1 where a case fails, 2 where a file cannot be read.`
}

// Run runs all files, and goes on after a failure.
func (c *policyTestCmd) Run(a *app) error {
	var suites []*simulate.Suite
	for _, file := range c.Files {
		s, err := simulate.Load(file)
		if err != nil {
			return usage(err)
		}
		suites = append(suites, s)
	}
	options, err := c.options(a)
	if err != nil {
		return err
	}
	var passed, failed, skipped int
	for _, s := range suites {
		results, err := s.Run(a.ctx, options)
		if err != nil {
			return err
		}
		for _, r := range results {
			switch {
			case r.Skipped != "":
				skipped++
			case r.OK:
				passed++
			default:
				failed++
			}
			if err := c.report(a, r); err != nil {
				return err
			}
		}
	}
	if !a.json {
		fmt.Fprintf(a.stdout, "%d passed, %d failed", passed, failed)
		if skipped > 0 {
			fmt.Fprintf(a.stdout, ", %d skipped (they need virtual time)", skipped)
		}
		fmt.Fprintln(a.stdout)
	}
	if failed > 0 {
		return &checkFailed{}
	}
	return nil
}

func (c *policyTestCmd) options(a *app) (simulate.Options, error) {
	if c.Ledger == "" {
		return simulate.Options{}, nil
	}
	u, err := a.fromEnv(c.Ledger)
	if err == nil {
		err = checkLedgerURL(u)
	}
	if err != nil {
		return simulate.Options{}, usage(err)
	}
	return simulate.Options{Ledger: func() (ledger.Store, error) { return openStore(u, redisstore.Options{}) }}, nil
}

// report writes one case: what failed, with its place; with -v its calls, too.
func (c *policyTestCmd) report(a *app, r simulate.CaseResult) error {
	switch {
	case a.json && r.Skipped != "": // one object a case that was run
		return nil
	case a.json:
		return a.writeJSON(r)
	case r.Skipped != "":
		if c.Verbose {
			fmt.Fprintf(a.stdout, "SKIP  %s: %s (%s)\n", r.File, r.Case, r.Skipped)
		}
		return nil
	case r.OK:
		fmt.Fprintf(a.stdout, "PASS  %s: %s\n", r.File, r.Case)
	default:
		fmt.Fprintf(a.stdout, "FAIL  %s: %s\n", r.File, r.Case)
		for _, f := range r.Failures {
			fmt.Fprintf(a.stdout, "      %s\n", f)
		}
	}
	if c.Verbose {
		for i, call := range r.Calls {
			fmt.Fprintf(a.stdout, "      %2d  %s\n", i+1, words(string(call.Decision), call.Reason, call.Effect))
		}
		fmt.Fprintf(a.stdout, "      %s happened\n", count(r.Effects, "effect"))
	}
	return nil
}
