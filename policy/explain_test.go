package policy_test

import (
	"reflect"
	"strings"
	"testing"

	"agentgw"
)

func TestExplain(t *testing.T) {
	p := mustLoad(t, `
order.refund: {tools: [refund_payment], key: {order: code}, must_match: {amount: money(USD)}, ttl: 7d, missing: pass}
order.list: {tools: [list_orders], pattern: read}
order.many: {tools: [many], each: lines, key: {order: id, sku: {type: code, arg: item.sku}}}
`)
	text := `{"order":" a-1042 ","amount":"50","note":"customer upset"}`
	call := &agentgw.Call{Tenant: "acme", Tool: "refund_payment", Arguments: []byte(text), Context: agentgw.Context{Agent: "support-7", Run: "run-31"}}
	e, err := p.Explain(call, parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if e.Call != "acme / support-7 / run-31 / refund_payment / "+text || e.Operation != "order.refund" || e.Place != "p.yaml:4:3" {
		t.Errorf("got %+v", e)
	}
	if !reflect.DeepEqual(e.Ignored, []string{"note"}) || len(e.Fields) != 2 || e.Fields[0].Canon != `"A-1042"` || e.Fields[0].Raw != `" a-1042 "` || e.Fields[1].Role != "must_match" {
		t.Errorf("fields %+v, ignored %v", e.Fields, e.Ignored)
	}
	if !strings.HasPrefix(e.Key, "eff_") || e.Rule != "once, a success answers for 7d, per tenant, repeat: token, in doubt: block" {
		t.Errorf("key %s, rule %s", e.Key, e.Rule)
	}
	if e, err := p.Explain(call, parse(t, `{"amount":"50"}`)); err != nil || e.Operation != "order.refund" || e.Key != "" {
		t.Errorf("a missing key that passes: %+v, %v", e, err)
	}
	if e, err := p.Explain(call, parse(t, `{"order":"1","amount":"50.005"}`)); err == nil || e.Operation != "order.refund" || e.Key != "" {
		t.Errorf("a field that cannot be read: %+v, %v", e, err)
	}
	if e, err := p.Explain(&agentgw.Call{Tool: "list_orders"}, parse(t, `{}`)); err != nil || e.Operation != "order.list" || e.Key != "" || e.Rule != "read" {
		t.Errorf("a read: %+v, %v", e, err)
	}
	if e, err := p.Explain(&agentgw.Call{Tool: "other"}, parse(t, `{}`)); err != nil || e.Operation != "" {
		t.Errorf("no operation: %+v, %v", e, err)
	}
	lines := `{"order":1,"lines":[{"sku":"a"},{"sku":"b"}]}`
	e, err = p.Explain(&agentgw.Call{Tool: "many", Arguments: []byte(lines)}, parse(t, lines))
	if err != nil || len(e.Elements) != 2 || e.Elements[0].Key == e.Elements[1].Key || e.Elements[0].Fields[1].Canon != `"A"` {
		t.Errorf("a batch: %+v, %v", e, err)
	}
}
