package policy

import (
	"slices"

	"agentgw"
)

// Reading is what may be repaired and decoded in a call's arguments before they are read: what every operation allows that may guard
// the call. Which of them does is only known once the arguments are read.
func (p *Policy) Reading(call *agentgw.Call) (repair, decode []string) {
	for i, o := range p.index.tools[call.Tool] {
		if i == 0 {
			repair, decode = o.Repair, o.Decode
			continue
		}
		repair, decode = common(repair, o.Repair), common(decode, o.Decode)
	}
	return repair, decode
}

// Guards reports whether an operation names the tool.
func (p *Policy) Guards(tool string) bool { return len(p.index.tools[tool]) > 0 }

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
