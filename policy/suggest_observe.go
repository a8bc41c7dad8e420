package policy

import (
	"agentgw/canonicalize"
)

// ObservedCall is a call that was seen: what agents really send.
type ObservedCall struct {
	ID   string
	Tool string
	Args []byte // JSON
	Task string
	Run  string // the run of the agent; several runs of one task show what varies
}

// observed is what was seen of one tool.
type observed struct {
	calls []seenCall
}

type seenCall struct {
	task, run string
	args      canonicalize.Value
}

type observations map[string][]seenCall

func observe(calls []ObservedCall) observations {
	out := observations{}
	for _, c := range calls {
		args, err := canonicalize.Parse(c.Args)
		if err != nil || args.Kind != canonicalize.Object {
			continue
		}
		out[c.Tool] = append(out[c.Tool], seenCall{c.Task, c.Run, args})
	}
	return out
}

// of are the calls of one variant of a tool.
func (o observations) of(t ToolFacts) *observed {
	if len(o[t.Name]) == 0 {
		return nil
	}
	if t.Tasks == nil {
		return &observed{o[t.Name]}
	}
	mine := map[string]bool{}
	for _, task := range t.Tasks {
		mine[task] = true
	}
	var out observed
	for _, c := range o[t.Name] {
		if mine[c.task] {
			out.calls = append(out.calls, c)
		}
	}
	return &out
}
