package policy

import (
	"strings"

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

// maxObserved is how many calls of one tool and task are compared with each other.
const maxObserved = 300

// seenCall is an observed call with its arguments in canonical form.
type seenCall struct {
	task, run string
	args      canonicalize.Value
	canon     []string // of the schema's properties, in their order
}

// observations are calls by tool.
type observations map[string][]seenCall

func observe(calls []ObservedCall) observations {
	out := observations{}
	for _, c := range calls {
		args, err := canonicalize.Parse(c.Args)
		if err != nil || args.Kind != canonicalize.Object {
			continue
		}
		out[c.Tool] = append(out[c.Tool], seenCall{task: c.Task, run: c.Run, args: args})
	}
	return out
}

// of are the calls of one variant of a tool.
func (o observations) of(t ToolFacts) []seenCall {
	if t.Tasks == nil {
		return o[t.Name]
	}
	mine := map[string]bool{}
	for _, task := range t.Tasks {
		mine[task] = true
	}
	var out []seenCall
	for _, c := range o[t.Name] {
		if mine[c.task] {
			out = append(out, c)
		}
	}
	return out
}

// variation is how an argument differs between calls that are otherwise one.
type variation struct {
	agree, differ int // pairs of two runs of one task
	deliberate    int // pairs within one run: the agent meant two things
	runs, apart   int // runs of the tool, and those in which such a pair occurred
}

// often reports whether an agent commonly makes several calls in one run that differ in this argument alone. A few are retries.
func (v variation) often() bool { return v.apart >= 3 && float64(v.apart) >= 0.2*float64(v.runs) }

// volatile reports whether an argument changes from run to run though the agent wants the same, and never within a run.
func (v variation) volatile() bool {
	return v.deliberate == 0 && v.differ >= 3 && float64(v.differ) >= 0.1*float64(v.agree+v.differ)
}

// pairsOf visits the pairs of calls of one task that agree in all arguments that count, or in all but one. only is the one, or equal.
func pairsOf(args []candidate, calls []seenCall, counts func(candidate) bool, visit func(a, b *seenCall, only int)) {
	byTask := map[string][]seenCall{}
	for _, c := range calls {
		if len(byTask[c.task]) < maxObserved {
			c.canon = canonicalOf(args, c.args)
			byTask[c.task] = append(byTask[c.task], c)
		}
	}
	for _, same := range byTask {
		for i := range same {
			for j := i + 1; j < len(same); j++ {
				if only := onlyDifference(args, &same[i], &same[j], counts); only != several {
					visit(&same[i], &same[j], only)
				}
			}
		}
	}
}

// variations counts for each argument how often it differs between calls that are otherwise one. Arguments that counts says no to, prose
// above all, may differ in every pair.
func variations(args []candidate, calls []seenCall, counts func(candidate) bool) []variation {
	out := make([]variation, len(args))
	type run struct {
		task, run string
		arg       int
	}
	runs, apart := map[run]bool{}, map[run]bool{}
	for _, c := range calls {
		runs[run{c.task, c.run, 0}] = true
	}
	pairsOf(args, calls, counts, func(a, b *seenCall, only int) {
		for k := range args {
			switch {
			case only != equal && only != k:
			case a.run == b.run && a.canon[k] != b.canon[k]:
				out[k].deliberate++
				apart[run{a.task, a.run, k}] = true
			case a.run == b.run:
			case a.canon[k] == b.canon[k]:
				out[k].agree++
			default:
				out[k].differ++
			}
		}
	})
	for r := range apart {
		out[r.arg].apart++
	}
	for k := range out {
		out[k].runs = len(runs)
	}
	return out
}

const (
	equal   = -1 // no argument that counts differs
	several = -2
)

func onlyDifference(args []candidate, a, b *seenCall, counts func(candidate) bool) int {
	only := equal
	for k := range args {
		if !counts(args[k]) || a.canon[k] == b.canon[k] {
			continue
		}
		if only != equal {
			return several
		}
		only = k
	}
	return only
}

// canonicalOf reads the arguments of a call as the draft would; what cannot be read is compared as it came.
func canonicalOf(args []candidate, v canonicalize.Value) []string {
	out := make([]string, len(args))
	for i, a := range args {
		spec := a.Field()
		spec.Type = a.typ + "?"
		f, err := canonicalize.Compile(spec, canonicalize.Defaults{})
		if err != nil {
			continue
		}
		if read, err := f.Read(v); err == nil {
			out[i] = read.Canon
		} else if m, ok := v.Member(a.Name); ok {
			out[i] = m.Raw()
		}
	}
	return out
}

// learn lets what was seen change roles. An enumeration, a reference, a number or a truth value keeps its role, and so does everything in
// an update, where the new value is the point.
func (s *suggester) learn(args []candidate) {
	if len(s.seen) == 0 {
		return
	}
	for i := range args {
		s.learnOrder(&args[i])
	}
	s.learnPlaces(args)
	for i, v := range variations(args, s.seen, identity) {
		a := &args[i]
		switch {
		case a.role == roleProse && v.often():
			a.role, a.why = roleMeaning, "prose, but the calls of one run often differ in it alone: worded alike is asked about"
		case s.kind.updates() || !v.volatile():
		case a.role == roleKey && strings.HasPrefix(a.typ, "auto(date") && s.kind.money && hasAmount(s.schema) && s.identified(args, i):
			a.role, a.why = roleMatch, "the day of a payment, which runs choose for themselves: another one is a conflict"
		case a.role == roleMeaning && !a.Required && s.identified(args, i):
			a.role, a.why = roleMatch, "a detail that runs leave out or word differently: another value is a conflict"
		}
	}
}

func identity(a candidate) bool { return a.role == roleKey || a.role == roleMeaning }

// learnPlaces finds arguments that runs write with and without what stands after a comma: Paris, and Paris, France. Where two different places
// of one name were ever meant, the rest counts.
func (s *suggester) learnPlaces(args []candidate) {
	with, against := make([]int, len(args)), make([]bool, len(args))
	pairsOf(args, s.seen, identity, func(a, b *seenCall, only int) {
		if only < 0 || args[only].role != roleMeaning || args[only].typ != "auto(text)" {
			return
		}
		headA, tailA := placeOf(a.canon[only])
		headB, tailB := placeOf(b.canon[only])
		switch {
		case headA != headB || headA == "":
		case tailA != "" && tailB != "" || a.run == b.run:
			against[only] = true
		default:
			with[only]++
		}
	})
	for i := range args {
		if with[i] >= 2 && !against[i] {
			args[i].typ = "auto(place)"
			args[i].why = "a place, which runs write with and without its state or country"
		}
	}
}

// placeOf cuts a canonical text at its first comma.
func placeOf(canon string) (head, tail string) {
	head, tail, _ = strings.Cut(strings.Trim(canon, `"`), ",")
	return strings.TrimSpace(head), strings.TrimSpace(tail)
}

// identified reports whether something other than argument i tells calls apart: a reference, a list, a number or a free text.
func (s *suggester) identified(args []candidate, i int) bool {
	for k, a := range args {
		if k != i && (a.role == roleMeaning || a.role == roleKey && a.Kind != "boolean" && len(a.Enum) == 0 && !strings.HasPrefix(a.typ, "auto(date") && !strings.HasPrefix(a.typ, "auto(time")) {
			return true
		}
	}
	return false
}

// learnOrder finds in which order agents write the day and the month of a date whose schema does not say, from values that can be read one way only and
// from ambiguous ones that another run of the task wrote out.
func (s *suggester) learnOrder(a *candidate) {
	if a.typ != "auto(date)" {
		return
	}
	votes := map[string]int{}
	plain := map[string]map[string]bool{} // dates of a task that need no order
	readers := map[string]*canonicalize.Field{}
	for _, order := range []string{"", "mdy", "dmy"} {
		typ := "date"
		if order != "" {
			typ += "(" + order + ")"
		}
		f, err := canonicalize.Compile(canonicalize.FieldSpec{Name: a.Name, Type: typ + "?", Arg: a.Field().Arg}, canonicalize.Defaults{})
		if err != nil {
			return
		}
		readers[order] = f
	}
	for _, c := range s.seen {
		if read, err := readers[""].Read(c.args); err == nil && read.Canon != "" {
			if plain[c.task] == nil {
				plain[c.task] = map[string]bool{}
			}
			plain[c.task][read.Canon] = true
		}
	}
	for _, c := range s.seen {
		if _, err := readers[""].Read(c.args); err == nil {
			continue
		}
		mdy, errM := readers["mdy"].Read(c.args)
		dmy, errD := readers["dmy"].Read(c.args)
		if isM, isD := errM == nil && plain[c.task][mdy.Canon], errD == nil && plain[c.task][dmy.Canon]; isM != isD {
			votes[map[bool]string{true: "mdy", false: "dmy"}[isM]]++
		}
	}
	for order, other := range map[string]string{"mdy": "dmy", "dmy": "mdy"} {
		if votes[order] > 0 && votes[other] == 0 {
			a.typ = "auto(date|" + order + ")"
			a.why += ", which the calls seen write as " + order
		}
	}
}
