package policy

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNearMisses(t *testing.T) {
	_, p := drafted(t, nil, nil, tool("pay_supplier", "Pay a supplier.", `"iban":`+text+`,"amount":`+number+`,"urgent":{"type":"boolean"}`),
		tool("cancel_order", "Cancel.", `"order_id":`+text), tool("get_note", "Get a note.", `"id":`+text))
	calls := []struct{ id, tool, task, args, near string }{
		{"1", "pay_supplier", "t", `{"iban":"DE1","amount":10}`, ``},
		{"2", "pay_supplier", "t", `{"iban":"DE1","amount":"10.0"}`, ``},
		{"3", "pay_supplier", "t", `{"iban":"DE1","amount":12}`, `{"call":"1","fields":{"amount":[10,12]}}`},
		{"4", "pay_supplier", "t", `{"iban":"DE1","amount":12,"urgent":true}`, `{"call":"3","fields":{"urgent":[null,true]}}`},
		{"5", "pay_supplier", "t", `{"iban":"DE2","amount":12}`, `{"call":"3","fields":{"iban":["DE1","DE2"]}}`},
		{"6", "pay_supplier", "u", `{"iban":"DE1","amount":10}`, `{"call":"1","scope":["t:t","t:u"],"fields":{}}`},
		{"7", "pay_supplier", "t", `{"iban":"DE9","amount":99}`, ``},
		{"8", "cancel_order", "t", `{"order_id":"A-1"}`, ``},
		{"9", "cancel_order", "t", `{"order_id":"A-2"}`, ``},
		{"10", "cancel_order", "u", `{"order_id":"A-2"}`, `{"call":"9","scope":["t:t","t:u"],"fields":{}}`},
		{"11", "get_note", "t", `{"id":"1"}`, ``},
		{"12", "get_note", "t", `{"id":"1","x":2}`, ``},
		{"13", "pay_supplier", "", `{"iban":"DE1","amount":10}`, ``},
	}
	var observed []ObservedCall
	for _, c := range calls {
		observed = append(observed, ObservedCall{ID: c.id, Tool: c.tool, Task: c.task, Args: []byte(c.args)})
	}
	var misses NearMisses
	at := 0
	err := ExplainCalls(p, observed, nil, func(e ExplainedCall) error {
		near := ""
		if found := misses.Next(e); found != nil {
			b, err := json.Marshal(found)
			if err != nil {
				return err
			}
			near = string(b)
		}
		if near != calls[at].near {
			t.Errorf("call %s: near %s, want %s", e.ID, near, calls[at].near)
		}
		at++
		return nil
	})
	if err != nil || at != len(calls) {
		t.Fatal(at, err)
	}
}

func TestNearMissesForget(t *testing.T) {
	var misses NearMisses
	call := func(id, a, b string) *NearMiss {
		return misses.Next(ExplainedCall{ID: id, Operation: "o", Key: id, Fields: map[string]json.RawMessage{"a": json.RawMessage(a), "b": json.RawMessage(b)}})
	}
	call("first", "1", "0")
	for n := range maxNearCalls {
		b, _ := json.Marshal(n)
		call("x"+string(b), "2", string(b))
	}
	if near := call("last", "1", "-1"); near != nil {
		t.Errorf("a call that was forgotten is near: %+v", near)
	}
	if n := len(misses.earlier["o"]); n != maxNearCalls {
		t.Errorf("%d calls are kept", n)
	}
}

func TestApart(t *testing.T) {
	long := `"` + strings.Repeat("x", 300) + `"`
	here := []Explained{{"id", "key", "", `"C-1"`}, {"month", "key", "", `"2026-05"`}, {"note", "key", "", long}, {"amount", "must_match", "", "5"}, {"lock", "other", "", "1"}}
	differ, equal := Apart(map[string]string{"id": `"C-1"`, "month": `"2026-04"`, "note": "sha256:00"}, here)
	if equal != 1 || len(differ) != 2 || string(differ["month"][0]) != `"2026-04"` || string(differ["note"][0]) != `"sha256:00"` || !strings.HasPrefix(string(differ["note"][1]), `"sha256:`) {
		t.Errorf("%d equal, %d differ", equal, len(differ))
	}
	lines := strings.Join((&NearMiss{Scope: &[2]string{"", "t:1"}, Fields: map[string]*[2]json.RawMessage{"b": nil, "a": {nil, json.RawMessage("1")}}}).Lines(), "\n")
	if want := "scope: nothing there, t:1 here\na: nothing there, 1 here\nb differed; the values are not kept any more"; lines != want {
		t.Errorf("got\n%s", lines)
	}
	if lines := (&NearMiss{}).Lines(); len(lines) != 1 || !strings.Contains(lines[0], "scope") {
		t.Errorf("got %s", lines)
	}
}
