package policy

import (
	"time"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v4"
)

// Probe settles a doubt by asking a tool.
type Probe struct {
	Tool  string
	After time.Duration // not before an attempt is that old: the tool may still be at work

	arguments []argument
	done      *expression
	notDone   *expression
}

// ProbeResult is what a probe finds out.
type ProbeResult string

const (
	ProbeDone    ProbeResult = "done"
	ProbeNotDone ProbeResult = "not done"
	ProbeMore    ProbeResult = "neither done nor not done" // more than one, say: a person must look
	ProbeUnknown ProbeResult = "cannot tell"
)

const (
	defaultProbeAfter = time.Minute
	probeExample      = `{tool: find_invoice, arguments: {order: args.order}, after: 2m, done: "size(result.body.items) == 1", not_done: "size(result.body.items) == 0"}`
)

func (o *operationReader) readProbe(n *yaml.Node) {
	m := o.members(n, "probe", probeExample, "tool", "arguments", "after", "done", "not_done")
	if m["tool"] == nil || m["done"] == nil || m["not_done"] == nil {
		o.fault(n, "write it as "+probeExample, "probe needs tool, done and not_done")
		return
	}
	p := &Probe{After: defaultProbeAfter}
	if name, ok := o.text(m["tool"], "probe.tool", "find_invoice"); ok {
		p.Tool = name
		o.tool(m["tool"], name)
	}
	p.arguments = o.arguments(m["arguments"], "probe.arguments")
	if a := m["after"]; a != nil {
		if d, ok := o.duration(a, "probe.after", 0, 30*24*time.Hour); ok {
			p.After = d
		}
	}
	sees := sight{result: true, fields: o.fieldNames()}
	p.done = o.expression(m["done"], "probe.done", cel.BoolType, sees)
	p.notDone = o.expression(m["not_done"], "probe.not_done", cel.BoolType, sees)
	o.op.Probe = p
}

// arguments reads a map of names to CEL expressions; nil: none.
func (o *operationReader) arguments(n *yaml.Node, what string) (all []argument) {
	if n == nil {
		return nil
	}
	for _, p := range o.pairs(n, what, "{id: args.order_id}") {
		if x := o.expression(p.value, what+"."+p.name, nil, sight{fields: o.fieldNames()}); x != nil {
			all = append(all, argument{p.name, x})
		}
	}
	return all
}

// checkProbe: asking and the tool to ask belong together.
func (o *operationReader) checkProbe() {
	switch asks := o.op.OnIndeterminate == "probe"; {
	case asks && o.nodes["probe"] == nil:
		o.fault(o.nodes["on_indeterminate"], "add probe: "+probeExample, "on_indeterminate: probe needs a probe")
	case !asks && o.nodes["probe"] != nil:
		o.fault(o.nodes["probe"], "add on_indeterminate: probe", "probe has no effect without on_indeterminate: probe")
	}
}

// ProbeArguments are the arguments with which the probe's tool is asked about a call, as a JSON object. The error says that it cannot
// be asked.
func (o *Operation) ProbeArguments(r *ResultView) ([]byte, error) {
	return objectOf(o.Probe.arguments, &evaluation{operation: o, call: r.Call, args: r.Args})
}

// Probed is what the answer of the probe's tool says, and why in a few words. An answer that does not count as succeeded, and an error
// in an expression, cannot tell.
func (o *Operation) Probed(call *ResultView, answer *ResultView) (ProbeResult, string) {
	if outcome, why := DefaultOutcome(answer); outcome != "succeeded" {
		return ProbeUnknown, "the probe's tool " + o.Probe.Tool + " failed: " + why
	}
	sees := evaluation{operation: o, call: call.Call, args: call.Args, result: answer}
	done, err := o.Probe.done.holds(&sees)
	if err != nil {
		return ProbeUnknown, err.Error()
	}
	notDone, err := o.Probe.notDone.holds(&sees)
	switch {
	case err != nil:
		return ProbeUnknown, err.Error()
	case done && notDone:
		return ProbeUnknown, "the probe says both done and not done"
	case done:
		return ProbeDone, o.Probe.done.text
	case notDone:
		return ProbeNotDone, o.Probe.notDone.text
	}
	return ProbeMore, "neither " + o.Probe.done.text + " nor " + o.Probe.notDone.text
}
