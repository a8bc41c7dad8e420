package policy

import (
	"fmt"
	"strings"
	"testing"

	"agentgw"
)

const petShop = `
openapi: 3.0.3
info: {title: Shop, version: "1"}
x-anchors: {date: &date {type: string, format: date}}
paths:
  x-note: {get: {}}
  /orders:
    get: {operationId: listOrders, parameters: [{name: state, in: query, schema: {type: string}}]}
    post:
      operationId: createOrder
      summary: Creates an order.
      description: It is shipped the next day.
      parameters:
        - {name: dry_run, in: query, schema: {type: boolean, default: false}}
        - {name: X-Trace, in: header, schema: {type: string}}
      requestBody:
        required: true
        content:
          text/plain: {}
          application/json; charset=utf-8: {schema: {$ref: "#/components/schemas/Order"}}
    options: {operationId: nothing}
  /orders/{order_id}/cancel:
    parameters: [{$ref: "#/components/parameters/order"}, {name: reason, in: query, schema: {type: string}}]
    post:
      summary: Cancels an order
      parameters: [{name: reason, in: query, description: Why., schema: {type: string, enum: [late, wrong]}}]
  /orders/{order_id}:
    parameters: [{$ref: "#/components/parameters/order"}]
    delete: {operationId: order.delete}
    put: {requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {state: {type: string}, order_id: {type: integer}}}}}}}
  /payments:
    post:
      operationId: pay
      requestBody:
        content:
          application/json:
            schema:
              oneOf:
                - {type: object, required: [card], properties: {card: {type: string}, amount: {type: number}}}
                - {$ref: "#/components/schemas/Transfer"}
  /batch:
    post: {operationId: createAll, requestBody: {$ref: "#/components/requestBodies/many"}}
  /raw:
    post: {operationId: upload, requestBody: {content: {application/octet-stream: {schema: {type: string, format: binary}}}}}
  /free:
    post: {operationId: createThing, requestBody: {content: {application/json: {schema: {type: object, additionalProperties: {type: string}, properties: {kind: {type: string}}}}}}}
components:
  parameters:
    order: {name: order_id, in: path, required: true, schema: {type: string}}
  requestBodies:
    many: {required: true, content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Order"}}}}}
  schemas:
    Order:
      allOf:
        - {$ref: "#/components/schemas/Base"}
        - type: object
          required: [customer_id]
          properties:
            customer_id: {type: string}
            delivery: *date
            lines: {type: array, items: {type: object, properties: {sku: {type: string}, quantity: {type: integer, default: 1}}}}
            parent: {$ref: "#/components/schemas/Order"}
    Base: {type: object, properties: {id: {type: string, readOnly: true}, note: {type: string}}}
    Transfer: {type: object, required: [iban], properties: {iban: {type: string}}}
`

func TestOpenAPI(t *testing.T) {
	tools, err := OpenAPITools(Source{Name: "shop.yaml", Text: []byte(petShop)})
	if err != nil {
		t.Fatal(err)
	}
	d, p := drafted(t, nil, nil, tools...)
	got := map[string]string{}
	for _, op := range d.Operations {
		got[op.Tools[0]] = fmt.Sprintf("%s {%s} {%s} %v", op.Pattern, namesOf(op.Key), namesOf(op.Left), op.MatchAll)
	}
	want := map[string]string{
		"listOrders":                     "read {} {} false",
		"createOrder":                    "once {dry_run: auto(bool)?, customer_id: auto(id)?, delivery: auto(date)?, lines: auto(bag|object|sku|quantity=1)?, parent: auto?} {note: auto(text)?} false",
		"POST /orders/{order_id}/cancel": "once {order_id: auto(id)?, reason: auto(enum)?} {} false",
		"order.delete":                   "once {order_id: auto(id)?} {} false",
		"PUT /orders/{order_id}":         "once {order_id: auto(id)?, state: auto(meaning)?} {} false",
		"pay":                            "once {card: auto(meaning)?, amount: auto(decimal)?, iban: auto(id)?} {} false",
		"createAll":                      "once {body: auto(bag|object|customer_id|delivery|lines|parent)?} {} false",
		"upload":                         "once {arguments: auto?} {} true",
		"createThing":                    "once {kind: auto(meaning)?} {} true",
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s:\n got %s\nwant %s", name, got[name], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tools: %v", len(got), got)
	}
	text := string(d.YAML())
	for _, line := range []string{`# at the proxy door: http: ["POST /UPSTREAM/orders/{order_id}/cancel"]`, "createOrder:  # Creates an order\n", "cancel", "must_match: all  #"} {
		if !strings.Contains(text, line) {
			t.Errorf("the draft lacks %q:\n%s", line, text)
		}
	}
	if len(p.Operations) != len(want) || p.Operations[0].Pattern == agentgw.Unguarded {
		t.Errorf("%d operations were loaded", len(p.Operations))
	}
}

// The same document as JSON reads as the same tools, whatever its escapes, its tabs and the case of its names.
func TestOpenAPIJSON(t *testing.T) {
	tools, err := OpenAPITools(Source{Name: "shop.json", Text: []byte("{\n\t\"openapi\": \"3.1.0\",\n\t\"paths\": {\"/a\": {\"post\": {\"operationId\": \"addA\", \"summary\": \"Adds \\ud83d\\ude00\"," +
		"\"parameters\": [{\"name\": \"q\", \"in\": \"query\", \"schema\": {\"type\": [\"string\", \"null\"]}}]}}, \"\\/A\": {\"get\": {\"operationId\": \"getA\"}}}}")})
	if err != nil || len(tools) != 2 || tools[0].Description != "Adds 😀" || string(tools[0].Schema) != `{"type":"object","properties":{"q":{"type":["string","null"]}},"required":[]}` || !tools[1].ReadOnly {
		t.Errorf("%+v, %v", tools, err)
	}
}

func TestOpenAPIRefuses(t *testing.T) {
	in := func(paths string) string { return "openapi: 3.1.0\npaths:\n" + paths }
	bomb := "openapi: 3.0.0\na: &a [x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	many := "  /a:\n"
	for i := range maxOpenAPIOperations + 1 {
		many += fmt.Sprintf("  /p%d: {get: {}}\n", i)
	}
	for want, text := range map[string]string{
		"empty":              " \n",
		"convert it":         "swagger: '2.0'\npaths: {}",
		`/openapi is "3.9"`:  "openapi: '3.9'",
		`/openapi is ""`:     "a: 1",
		"no operations":      "openapi: 3.0.0\npaths: {}",
		"leads out":          in(`  /a: {post: {parameters: [{$ref: "other.yaml#/x"}]}}`),
		"points at nothing":  in(`  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: "#/components/x"}}}}}}`),
		"in a circle":        in(`  /a: {post: {requestBody: {$ref: "#/paths/~1a/post/requestBody"}}}`),
		"has no name":        in(`  /a: {get: {parameters: [{in: query}]}}`),
		"each needs its own": in("  /a: {get: {operationId: x}, post: {operationId: x}}"),
		"more than 2000":     in(many),
		"a second time":      `{"openapi": "3.0.0", "paths": {}, "paths": {}}`,
		"ends in the middle": `{"openapi": "3.0.0", "paths": {`,
		"follows":            `{"openapi": "3.0.0"} {}`,
		"nested deeper":      `{"openapi": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		"a million values":   bomb,
		"line":               "openapi: 3.0.0\nopenapi: 3.0.0\n",
	} {
		_, err := OpenAPITools(Source{Name: "x.yaml", Text: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.yaml") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A schema that explodes costs one operation its schema, and never an error: its calls are then compared by all arguments.
func TestOpenAPIExplodes(t *testing.T) {
	text := "openapi: 3.0.0\npaths:\n  /a: {post: {operationId: makeA, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}}}\ncomponents:\n  schemas:\n"
	for i := range 8 {
		text += fmt.Sprintf("    S%d: {type: object, properties: {", i)
		for j := range 10 {
			text += fmt.Sprintf("p%d: {$ref: '#/components/schemas/S%d'}, ", j, (i+1)%9)
		}
		text += "}}\n"
	}
	text += "    S8: {type: string}\n"
	tools, err := OpenAPITools(Source{Name: "x.yaml", Text: []byte(text)})
	if err != nil || len(tools) != 1 || tools[0].Schema != nil || !tools[0].Partial {
		t.Errorf("%+v, %v", tools, err)
	}
}

func FuzzOpenAPI(f *testing.F) {
	f.Add(petShop)
	f.Add(`{"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": {"content": {"a/json": {"schema": {"$ref": "#/paths"}}}}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		tools, err := OpenAPITools(Source{Name: "x", Text: []byte(text)})
		if err != nil {
			return
		}
		d, err := Suggest(tools, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load([]Source{{Name: "draft.yaml", Text: d.YAML()}}, Env{AllowAll: true}); err != nil && len(d.YAML()) < 1<<20 {
			t.Fatalf("the draft does not load: %v\n%s", err, d.YAML())
		}
	})
}
