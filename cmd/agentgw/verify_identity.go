package main

import (
	"fmt"
	"strings"
	"time"
)

func always(tool string) func(int) string { return func(int) string { return tool } }

// intent is a new wish of the trial, in other words with each call.
func (t *trial) intent() *intent {
	t.b.refs++
	ref := fmt.Sprintf("V-%d", t.b.refs)
	return t.wish(always(toolAct), func(n int) string { return worded(ref, n) })
}

// short is an intent of the operation whose lease is short.
func (t *trial) short() *intent {
	in := t.intent()
	in.tool = always(toolShort)
	return in
}

func (t *trial) wish(tool, args func(n int) string) *intent {
	in := &intent{mark: fmt.Sprintf("%s/%d", t.name, len(t.intents)+1), tool: tool, args: args, wants: 1}
	t.intents = append(t.intents, in)
	return in
}

// worded is the nth way to ask for an invoice: the same customer, reference, month, lines and amount.
func worded(ref string, n int) string {
	wide := strings.Map(func(r rune) rune { return r + 0xFEE0 }, ref) // full-width forms
	refs := []string{ref, strings.ToLower(ref), " " + ref + " ", wide, strings.Replace(ref, "-", "‐", 1)}
	pick := func(step int, forms ...string) string { return forms[n/step%len(forms)] }
	members := []string{
		`"customer":` + pick(1, `4711`, `"4711"`, `" 4711 "`),
		fmt.Sprintf(`"ref":%q`, refs[n%len(refs)]),
		`"month":` + pick(2, `"2026-11"`, `"2026/11/30"`, `"2026-11-01"`),
		`"lines":` + pick(1, `["A-1","B-2"]`, `["b-2","Ａ-1","A-1"]`, `"[\"B-2\", \"A-1\"]"`),
		`"amount":` + pick(3, `"1200.5"`, `1200.50`, `"1200.50"`, `1.2005e3`),
		fmt.Sprintf(`"note":"attempt %d, please"`, n),
	}
	first := n % len(members)
	return strings.Join(append(members[first:], members[:first]...), ",")
}

const wordings = 30

func rewording(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	in := t.intent()
	for range wordings {
		persist(t.ctx, to, in, patient)
	}
	return nil
}

// distinctness asks once for each of many things that are nearly the same: every one is another.
func distinctness(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	t.b.refs++
	base := fmt.Sprintf("D-%d", t.b.refs)
	one := func(customer, ref, month, lines string) {
		args := fmt.Sprintf(`"customer":%s,"ref":%q,"month":%q,"lines":%s,"amount":"10.00"`, customer, ref, month, lines)
		t.wish(always(toolAct), func(int) string { return args })
	}
	const lines = `["A-1","B-2"]`
	for _, customer := range []string{"9007199254740992", "9007199254740993", `"9007199254740994"`, "90071992547409930"} { // floats merge these
		one(customer, base, "2026-11", lines)
	}
	for _, ref := range []string{base + "0", base + "O", base + "1", base + "-1", "X" + base} {
		one("1", ref, "2026-11", lines)
	}
	for _, month := range []string{"2026-10", "2026-12", "2025-11"} {
		one("1", base, month, lines)
	}
	for _, other := range []string{`["A-1"]`, `["A-1","B-3"]`, `["A-1","B-2","C-3"]`, `["A-11","B-2"]`} {
		one("1", base, "2026-11", other)
	}
	each(t.intents, func(in *intent) {
		s := callOnce(t.ctx, to, in, patient, "")
		if s.is != isDone { // nothing went wrong, so the first call has to do
			s.is = isNo
		}
		in.heard(s)
	})
	return nil
}

func changedAmount(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	for range t.b.times {
		first := t.intent()
		persist(t.ctx, to, first, patient)
		words := first.args(0)
		other := t.wish(always(toolAct), func(int) string { return strings.Replace(words, `"1200.5"`, `"2100.50"`, 1) })
		other.wants, other.refusable = 0, true
		other.heard(callOnce(t.ctx, to, other, patient, ""))
	}
	return nil
}

func neverSentFault(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	for range t.b.times {
		t.intent().tool = func(n int) string {
			if n < 2 {
				return toolNowhere
			}
			return toolAct
		}
	}
	each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) })
	return nil
}

// deliberateRepeat asks for the token, sends the same once more with it, and retries that.
func deliberateRepeat(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	for range t.b.times {
		in := t.intent()
		words := in.args(0)
		in.args = func(int) string { return words } // a token is bound to the arguments
		in.wants = 2
		persist(t.ctx, to, in, patient)
		extra := ""
		if !t.bare {
			asked := callOnce(t.ctx, to, in, patient, `,"mode":"check"`)
			extra = fmt.Sprintf(`,"repeat_token":%q`, asked.token)
		}
		for range 2 {
			in.heard(callOnce(t.ctx, to, in, patient, extra))
		}
	}
	return nil
}

func afterTTL(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	for range t.b.times {
		in := t.intent()
		in.tool, in.wants = always(toolBrief), 2
	}
	for i := range 2 {
		if i > 0 {
			sleep(t.ctx, briefTTL+500*time.Millisecond)
		}
		each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) })
	}
	return nil
}
