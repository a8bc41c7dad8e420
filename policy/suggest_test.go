package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"agentgw"
)

func tool(name, description, properties string, required ...string) ToolFacts {
	names := ""
	if len(required) > 0 {
		names = `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return ToolFacts{Name: name, Description: description, Schema: []byte(`{"type":"object","properties":{` + properties + `}` + names + `}`)}
}

const (
	text   = `{"type":"string"}`
	number = `{"type":"number"}`
	texts  = `{"type":"array","items":{"type":"string"}}`
)

// drafted drafts tools, writes and loads the policy, and returns both.
func drafted(t *testing.T, calls []ObservedCall, advise Adviser, tools ...ToolFacts) (*Draft, *Policy) {
	t.Helper()
	d, err := Suggest(tools, calls, advise)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load([]Source{{Name: "draft.yaml", Text: d.YAML()}}, Env{})
	if err != nil {
		t.Fatalf("the draft does not load: %v\n%s", err, d.YAML())
	}
	return d, p
}

func namesOf(fields []DraftField) string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Name+": "+f.Type)
	}
	return strings.Join(out, ", ")
}

func TestSuggestFields(t *testing.T) {
	for _, c := range []struct {
		tool             ToolFacts
		pattern          agentgw.Pattern
		key, match, left string
	}{
		{tool("send_letter", "Sends a letter.", `"recipient":`+text+`,"subject":`+text+`,"body":`+text+`,"cc":`+texts), agentgw.Once,
			"recipient: auto(meaning)?, cc: auto(set|text)?", "", "subject: auto(text)?, body: auto(text)?"},
		{tool("cancel_order", "Cancel an order.", `"order_id":`+text+`,"reason":{"type":"string","enum":["late","wrong"]}`), agentgw.Once,
			"order_id: auto(id)?, reason: auto(enum)?", "", ""},
		{tool("cancel_order", "Cancel an order.", `"order_id":`+text+`,"reason":`+text), agentgw.Once, "order_id: auto(id)?", "", "reason: auto(text)?"},
		{tool("post_note", "Post a note.", `"content":`+text), agentgw.Once, "content: auto(meaning)?", "", ""},
		{tool("pay_supplier", "Pay money to a supplier.", `"iban":`+text+`,"amount":`+number+`,"date":`+text+`,"subject":`+text), agentgw.Once,
			"iban: auto(id)?, amount: auto(decimal)?", "date: auto(date)?", "subject: auto(text)?"},
		{tool("book_lesson", "Book a lesson.", `"subject":`+text+`,"date":`+text), agentgw.Once, "subject: auto(meaning)?, date: auto(date)?", "", ""},
		{tool("set_volume", "Sets the volume.", `"level":`+number), agentgw.Overwrite, "level: auto(decimal)?", "", ""},
		{tool("set_reminder_email", "Sets up an email.", `"level":`+number), agentgw.Once, "level: auto(decimal)?", "", ""},
		{tool("log_out", "Log out.", ``), agentgw.Once, "arguments: auto?", "", ""},
		{tool("swap_items", "Exchange items.", `"item_ids":`+texts+`,"new_item_ids":`+texts), agentgw.Once, "item_ids: auto(pairs|new_item_ids|text)?", "", ""},
		{tool("order_goods", "Order goods.", `"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},"quantity":{"type":"integer","default":1},"note":{"type":"string"}}}}`),
			agentgw.Once, "lines: auto(bag|object|sku|quantity=1)?", "", ""},
		{tool("move_arm", "Moves the arm along a path.", `"points":{"type":"array","items":{"type":"number"}}`), agentgw.Once, "points: auto(list|decimal)?", "", ""},
		{tool("update_plan", "Update a plan.", `"plan_id":`+text+`,"amount":`+number+`,"start_date":`+text, "plan_id"), agentgw.Once,
			"plan_id: auto(id)?, amount: auto(meaning|decimal)?, start_date: auto(meaning|date)?", "", ""},
		{ToolFacts{Name: "weird", Schema: []byte(`[1]`)}, agentgw.Once, "arguments: auto?", "", ""},
	} {
		d, _ := drafted(t, nil, nil, c.tool)
		op := d.Operations[0]
		if op.Pattern != c.pattern || namesOf(op.Key) != c.key || namesOf(op.Match) != c.match || namesOf(op.Left) != c.left {
			t.Errorf("%s: %s, key {%s}, must_match {%s}, left {%s}", c.tool.Name, op.Pattern, namesOf(op.Key), namesOf(op.Match), namesOf(op.Left))
		}
		for _, f := range slices.Concat(op.Key, op.Match, op.Left) {
			if f.Why == "" {
				t.Errorf("%s: nothing says why %s is there", c.tool.Name, f.Name)
			}
		}
	}
}

func TestSuggestReads(t *testing.T) {
	for name, c := range map[string]struct {
		description string
		read        bool
	}{
		"get_weather":        {"Get the weather of a city.", true},
		"list_invoices":      {"Lists invoices.", true},
		"crm.searchContacts": {"Search contacts by name.", true},
		"get_train_tickets":  {"Buys tickets for a train.", false},
		"find_and_book":      {"Finds a ride and books it.", false},
		"do_it":              {"Does it.", false},
		"send_report":        {"Sends the report.", false},
		"fetch_mail":         {"Fetches mail and marks it as read, then deletes it.", false},
	} {
		d, _ := drafted(t, nil, nil, tool(name, c.description, `"x":`+text))
		if got := d.Operations[0].Pattern == agentgw.Read; got != c.read {
			t.Errorf("%s (%s): read is %v", name, c.description, got)
		}
	}
	hinted := tool("sync_all", "Syncs.", ``)
	hinted.ReadOnly = true
	if d, _ := drafted(t, nil, nil, hinted); d.Operations[0].Pattern != agentgw.Read {
		t.Error("a tool that says it only reads is not believed")
	}
}

func TestSuggestLearns(t *testing.T) {
	event := tool("create_meeting", "Creates a meeting.", `"title":`+text+`,"start_date":`+text+`,"place":`+text+`,"room":`+text+`,"body":`+text, "title", "start_date", "place")
	call := func(task, run, args string) ObservedCall {
		return ObservedCall{Tool: "create_meeting", Task: task, Run: run, Args: []byte(args)}
	}
	calls := []ObservedCall{
		call("1", "a", `{"title":"Sync","start_date":"2026-03-04","place":"Paris","room":"12"}`),
		call("1", "b", `{"title":"Sync","start_date":"03/04/2026","place":"Paris, France","body":"hello"}`),
		call("1", "c", `{"title":"Sync","start_date":"2026-03-04","place":"Paris"}`),
		call("1", "d", `{"title":"Sync","start_date":"2026-03-04","place":"Paris, France","room":"13"}`),
		call("1", "e", `{"title":"Sync","start_date":"2026-03-04","place":"Paris, France"}`),
	}
	d, _ := drafted(t, calls, nil, event)
	op := d.Operations[0]
	if got, want := namesOf(op.Key), "title: auto(meaning)?, start_date: auto(date|mdy)?, place: auto(meaning|place)?"; got != want {
		t.Errorf("key {%s}, want {%s}", got, want)
	}
	if got := namesOf(op.Match); got != "room: auto(text)?" {
		t.Errorf("must_match {%s}: a detail that runs leave out", got)
	}
	// Two rooms in one run were both meant.
	d, _ = drafted(t, append(calls, call("2", "a", `{"title":"Sync","start_date":"2026-03-05","place":"Rome","room":"1"}`),
		call("2", "a", `{"title":"Sync","start_date":"2026-03-05","place":"Rome","room":"2"}`),
		call("2", "a", `{"title":"Sync","start_date":"2026-03-05","place":"Springfield, IL","room":"2"}`),
		call("2", "a", `{"title":"Sync","start_date":"2026-03-05","place":"Springfield, MA","room":"2"}`)), nil, event)
	if got, want := namesOf(d.Operations[0].Key), "title: auto(meaning)?, start_date: auto(date|mdy)?, place: auto(meaning)?, room: auto(meaning)?"; got != want {
		t.Errorf("key {%s}, want {%s}", got, want)
	}
}

func TestSuggestVariants(t *testing.T) {
	a, b := tool("hotel.book", "Book.", `"city":`+text), tool("hotel.book", "Book.", `"town":`+text)
	a.Tasks, b.Tasks = []string{"t1", "it's"}, []string{"t2"}
	_, p := drafted(t, nil, nil, a, b)
	if len(p.Operations) != 2 {
		t.Fatalf("%d operations", len(p.Operations))
	}
	for task, want := range map[string]string{"t1": "hotel.book", "it's": "hotel.book", "t2": "hotel.book.2", "t3": ""} {
		var got ExplainedCall
		calls := []ObservedCall{{ID: "1", Tool: "hotel.book", Task: task, Args: []byte(`{"city":"x"}`)}}
		if err := ExplainCalls(p, calls, nil, func(e ExplainedCall) error { got = e; return nil }); err != nil || got.Operation != want {
			t.Errorf("task %s is %q, want %q (%v)", task, got.Operation, want, err)
		}
	}
	if d, _ := drafted(t, nil, nil, a, a); len(d.Operations) != 1 || d.Operations[0].When != "" {
		t.Error("one schema twice is two operations")
	}
}

func TestSuggestAdvice(t *testing.T) {
	letter := tool("send_letter", "Sends a letter.", `"to_id":`+text+`,"kind":{"type":"string","enum":["a","b"]},"title":`+text+`,"body":`+text)
	advise := func(a map[string]Advice, err error) Adviser {
		return func(ToolFacts, DraftOperation) (map[string]Advice, error) { return a, err }
	}
	d, _ := drafted(t, nil, advise(map[string]Advice{"title": {"ignore", "a heading"}, "body": {"meaning", "says what it is"},
		"kind": {"ignore", "unimportant"}, "to_id": {"ignore", "unimportant"}, "unheard_of": {"key", ""}}, nil), letter)
	op := d.Operations[0]
	if got := namesOf(op.Key); got != "to_id: auto(id)?, kind: auto(enum)?, body: auto(meaning)?" || namesOf(op.Left) != "title: auto(text)?" {
		t.Errorf("key {%s}, left {%s}: references and enumerations are not the model's to drop", got, namesOf(op.Left))
	}
	if text := string(d.YAML()); !strings.Contains(text, "says what it is (the model decided)") || !strings.Contains(text, "a heading (the model decided)") {
		t.Errorf("nothing marks what the model decided:\n%s", d.YAML())
	}
	for _, bad := range []Adviser{advise(nil, errors.New("down")), advise(map[string]Advice{"body": {"whatever", ""}}, nil)} {
		if _, err := Suggest([]ToolFacts{letter}, nil, bad); err == nil || !strings.Contains(err.Error(), "send_letter") {
			t.Errorf("got %v, want an error that names the tool", err)
		}
	}
	data, schema, ok := AdviceQuestion(letter, op)
	if !ok || strings.Contains(string(schema), "to_id") || strings.Contains(string(schema), "kind") || !strings.Contains(string(schema), `"title"`) || !strings.Contains(string(data), "send_letter") {
		t.Errorf("the question is %s, its answer's schema %s", data, schema)
	}
	asked := []byte(`{"required":["title"]}`)
	if a, err := ReadAdvice([]byte(`{"title":{"why":" a heading","role":"ignore"}}`), asked); err != nil || a["title"] != (Advice{"ignore", "a heading"}) {
		t.Errorf("%v, %v", a, err)
	}
	for _, bad := range []string{`{"title":"ignore"}`, `{"title":{"why":"w","role":"key","x":1}}`, `Sure!`, `{} {}`, `{}`, `{"body":{"why":"w","role":"key"}}`,
		`{"title":{"why":"w","role":"key"},"body":{"why":"w","role":"key"}}`, `{"title":{"why":"w","role":"drop"}}`, `{"title":{"why":"","role":"key"}}`,
		`{"title":{"why":"w","role":"key","role":"ignore"}}`, "```json\n" + `{"title":{"why":"w","role":"key"}}` + "\n```"} {
		if _, err := ReadAdvice([]byte(bad), asked); err == nil {
			t.Errorf("%s is advice", bad)
		}
	}
	only := tool("post", "Posts.", `"content":`+text)
	if d, _ := drafted(t, nil, advise(map[string]Advice{"content": {"ignore", "prose"}}, nil), only); len(d.Operations[0].Key) != 1 || d.Operations[0].Key[0].Name != "content" {
		t.Error("the model dropped the only thing that tells calls apart")
	}
}

// Names and descriptions come from foreign servers: none may break out of its place in the file.
func TestSuggestHostileNames(t *testing.T) {
	evil := "x\n  y: 1 # \"'{}[]: &a *b !t | > % @ ` \u2028 \u0085"
	d, p := drafted(t, nil, nil,
		tool(`t1\n: #`, evil, `"a.b":`+text+`,"c/d~":`+number+`,"`+"\\n# x: y"+`":`+text+`,"yes":`+text+`,"":`+text+`,"q\"'":{"type":"string","default":"\n- 'x' # y"}`),
		tool("t1_n___", "", `"x":{"type":"object","properties":{"a|b":{"type":"string"},"c)":{}}}`),
	)
	if len(p.Operations) != 2 || len(d.Operations[0].Key)+len(d.Operations[0].Left) != 6 && len(d.Operations[1].Key)+len(d.Operations[1].Left) != 6 {
		t.Errorf("fields were lost:\n%s", d.YAML())
	}
	var got ExplainedCall
	calls := []ObservedCall{{ID: "1", Tool: `t1\n: #`, Task: "t", Args: []byte(`{"a.b":"1","c/d~":2,"yes":"y"}`)}}
	if err := ExplainCalls(p, calls, nil, func(e ExplainedCall) error { got = e; return nil }); err != nil || got.Key == "" || len(got.Fields) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestExplainCalls(t *testing.T) {
	near := func(query map[string]string, earlier []map[string]string) (out []int) {
		for i, e := range earlier {
			if e["title"] == query["title"] && strings.HasPrefix(query["content"], e["content"]) {
				out = append(out, i)
			}
		}
		return out
	}
	_, p := drafted(t, nil, nil, tool("post_note", "Post.", `"content":`+text), tool("get_note", "Get a note.", `"id":`+text))
	var got []ExplainedCall
	err := ExplainCalls(p, []ObservedCall{
		{ID: "1", Tool: "post_note", Task: "t", Args: []byte(`{"content":"jam"}`)},
		{ID: "2", Tool: "post_note", Task: "t", Args: []byte(`{"content":" JAM "}`)},
		{ID: "3", Tool: "post_note", Task: "t", Args: []byte(`{"content":"jam again"}`)},
		{ID: "4", Tool: "post_note", Task: "u", Args: []byte(`{"content":"jam again"}`)},
		{ID: "5", Tool: "post_note", Args: []byte(`{"content":"jam"}`)},
		{ID: "6", Tool: "post_note", Task: "t", Args: []byte(`{"content":`)},
		{ID: "7", Tool: "get_note", Task: "t", Args: []byte(`{"id":"1"}`)},
		{ID: "8", Tool: "unknown", Task: "t", Args: []byte(`{}`)},
	}, near, func(e ExplainedCall) error { got = append(got, e); return nil })
	if err != nil || len(got) != 8 {
		t.Fatal(err)
	}
	if got[0].Key == "" || got[0].Key != got[1].Key || got[2].Key == got[0].Key || got[3].Key == got[2].Key {
		t.Errorf("keys: %v", got)
	}
	if !slices.Equal(got[2].SimilarTo, []string{"1", "2"}) || got[1].SimilarTo != nil || got[3].SimilarTo != nil {
		t.Errorf("similar to: %v %v %v", got[1].SimilarTo, got[2].SimilarTo, got[3].SimilarTo)
	}
	if got[4].Error == "" || got[5].Error == "" || got[4].Key+got[5].Key+got[6].Key+got[7].Key != "" || got[6].Operation != "get_note" || got[7].Operation != "" {
		t.Errorf("what has no key: %+v", got[4:])
	}
	stop := errors.New("stop")
	if err := ExplainCalls(p, make([]ObservedCall, 3), nil, func(ExplainedCall) error { return stop }); err != stop {
		t.Errorf("the caller's error is %v", err)
	}
}
