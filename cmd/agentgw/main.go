// Command agentgw is a gateway that lets agents and robots call business tools so that each intended effect happens at most once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // policies name time zones; small machines have no list of them

	"github.com/alecthomas/kong"

	"agentgw/policy"
)

// Exit codes.
const (
	exitFine   = 0
	exitFailed = 1 // the check failed, or something broke on the way
	exitUsage  = 2 // wrong usage or unreadable input
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// cli is the command line.
type cli struct {
	JSON bool `name:"json" help:"Write JSON for programs instead of text for people."`

	Serve     serveCmd     `cmd:"" help:"Run the gateway."`
	Init      initCmd      `cmd:"" help:"Write a first configuration, an example policy and a test of it."`
	Demo      demoCmd      `cmd:"" help:"See in under a minute what the gateway does. Needs nothing."`
	MCP       mcpCmd       `cmd:"" name:"mcp" help:"Guard an MCP server for a client that starts it as a command."`
	Call      callCmd      `cmd:"" help:"Call one tool through the gateway."`
	Effects   effectsCmd   `cmd:"" help:"Look at what happened, and say what is in doubt."`
	Redeliver redeliverCmd `cmd:"" help:"Send a bulk of calls again: what is done stays done, what is missing is done."`
	Policy    policyCmd    `cmd:"" help:"Check, test, explain and draft policies."`
	Doctor    doctorCmd    `cmd:"" help:"Say what is unsafe here, and how to mend it."`
	Verify    verifyCmd    `cmd:"" help:"Prove on your own ledger that faults repeat nothing and lose nothing."`
	Behind    behindCutCmd `cmd:"" name:"verify-gateway" hidden:""`
	Version   versionCmd   `cmd:"" help:"Show the version."`
}

// app is what every command gets.
type app struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    environment
	json   bool
}

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) (code int) {
	a := &app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	defer func() {
		if e := recover(); e != nil {
			asked, ok := e.(exit) // kong's way to end after --help
			if !ok {
				panic(e)
			}
			code = int(asked)
		}
	}()
	var c cli
	parser, err := kong.New(&c, kong.Name("agentgw"), kong.Description("One effect for each intended operation, however often and in whatever words agents ask for it."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exit(code)) }), kong.Bind(a), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}))
	if err != nil {
		return a.fail(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return a.fail(usage(fmt.Errorf("%w; `agentgw %s--help` shows how", err, helpFor(parser, args))))
	}
	a.json = c.JSON
	return a.fail(chosen.Run(a))
}

type exit int

// helpFor is the command that args begin with, and its sub-command, with a space behind each; "" where there is none of that name.
func helpFor(parser *kong.Kong, args []string) string {
	var command strings.Builder
	node := parser.Model.Node
	for _, arg := range args {
		i := slices.IndexFunc(node.Children, func(known *kong.Node) bool { return known.Name == arg })
		if i < 0 {
			break
		}
		node = node.Children[i]
		command.WriteString(arg + " ")
	}
	return command.String()
}

// fail turns an error into a message and an exit code.
func (a *app) fail(err error) int {
	if err == nil {
		return exitFine
	}
	var failed *checkFailed
	if !errors.As(err, &failed) || failed.why != "" {
		fmt.Fprintf(a.stderr, "agentgw: %s\n", strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\nagentgw: "))
	}
	var wrong *usageError
	var unreadable policy.Errors
	if errors.As(err, &wrong) || errors.As(err, &unreadable) {
		return exitUsage
	}
	return exitFailed
}

// usageError is wrong usage or unreadable input.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// checkFailed is a check that came out badly, and has been reported where why is "".
type checkFailed struct{ why string }

func (e *checkFailed) Error() string { return e.why }

// environment is a list of NAME=value.
type environment []string

// get is the value of a variable, "" where it is not set. As with the shell, the last one counts.
func (e environment) get(name string) string {
	value := ""
	for _, line := range e {
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			value = v
		}
	}
	return value
}
