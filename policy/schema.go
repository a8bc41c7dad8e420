package policy

import (
	"encoding/json"
	"strings"

	"agentgw/canonicalize"
)

// Pieces of the JSON Schema of a policy file, draft 2020-12.
var (
	typeText      = map[string]any{"type": "string", "minLength": 1}
	listOfTexts   = listOf(typeText)
	celText       = map[string]any{"type": "string", "minLength": 1, "description": "A CEL expression; quote it."}
	celValue      = map[string]any{"type": []string{"string", "number", "boolean"}, "description": "A CEL expression."}
	booleanType   = map[string]any{"type": "boolean"}
	durationType  = map[string]any{"type": []string{"string", "integer"}, "pattern": durationText.String(), "maximum": 0, "examples": []string{"90s", "24h", "7d"}}
	sizeType      = map[string]any{"type": []string{"string", "integer"}, "pattern": sizeText.String(), "examples": []string{"4MiB"}}
	limitSchema   = object(map[string]any{"count": map[string]any{"type": "integer", "minimum": 1}, "per": durationType, "by": anyOf(typeText, listOfTexts)}, "count", "per")
	budgetSchema  = object(map[string]any{"count": map[string]any{"type": "integer", "minimum": 1}, "per": durationType}, "count", "per")
	outcomeSchema = enumOf("succeeded", "failed", "indeterminate")
	statusPattern = "^([1-5][xX][xX]|[1-5][0-9][0-9]( *- *[1-5][0-9][0-9])?)$"

	outcomesSchema = anyOf(
		map[string]any{"type": "object", "minProperties": 1, "propertyNames": map[string]any{"pattern": statusPattern}, "additionalProperties": outcomeSchema},
		listOf(object(map[string]any{
			"status": map[string]any{"type": []string{"string", "integer"}, "pattern": statusPattern, "minimum": 100, "maximum": 599},
			"when":   celText,
			"is":     outcomeSchema,
		}, "is")),
	)
	probeSchema = object(map[string]any{"tool": typeText, "arguments": mapOf(celValue), "after": durationType, "done": celText, "not_done": celText}, "tool", "done", "not_done")
	stateSchema = object(map[string]any{"tool": typeText, "arguments": mapOf(celValue), "value": celText}, "tool", "value")
	fieldMap    = mapOf(map[string]any{"$ref": "#/$defs/field"})
)

func enumOf(words ...string) map[string]any { return map[string]any{"enum": words} }
func anyOf(schemas ...any) map[string]any   { return map[string]any{"anyOf": schemas} }

func listOf(items any) map[string]any {
	return map[string]any{"type": "array", "minItems": 1, "items": items}
}

func mapOf(values any) map[string]any {
	return map[string]any{"type": "object", "minProperties": 1, "additionalProperties": values}
}

// object has these members and no others.
func object(members map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "properties": members, "required": required, "additionalProperties": false}
}

// Schema is the JSON Schema of a policy file, for editors. Loading checks more: it knows what holds between members.
func Schema() ([]byte, error) {
	operation := map[string]any{}
	for _, m := range members {
		if m.read == nil {
			continue
		}
		operation[m.name] = described(m)
	}
	schema := object(map[string]any{
		"version":    map[string]any{"const": 1, "description": "The version of this format."},
		"entities":   described(member{doc: "Kinds of business objects whose states transitions follow.", schema: mapOf(entitySchema())}),
		"operations": described(member{doc: "What is guarded, by name.", schema: mapOf(map[string]any{"$ref": "#/$defs/operation"})}),
	}, "version")
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "agentgw policy"
	op := object(operation)
	delete(op, "required")
	op["anyOf"] = []any{map[string]any{"required": []string{"tools"}}, map[string]any{"required": []string{"http"}}}
	schema["$defs"] = map[string]any{"operation": op, "field": fieldSchema()}
	return json.MarshalIndent(schema, "", "  ")
}

// described is a member's schema with its description, and its default where there is one.
func described(m member) map[string]any {
	with := map[string]any{"description": m.doc}
	for k, v := range m.schema.(map[string]any) {
		if k != "description" {
			with[k] = v
		}
	}
	if words, ok := with["enum"].([]string); ok {
		with["default"] = words[0]
	}
	return with
}

func entitySchema() map[string]any {
	return object(map[string]any{
		"states":  described(member{doc: "All states.", schema: listOfTexts}),
		"initial": described(member{doc: "The state of an object before its first transition.", schema: typeText}),
	}, "states", "initial")
}

// fieldSchema proposes the type names and leaves their parameters free.
func fieldSchema() map[string]any {
	name := "(" + strings.Join(canonicalize.TypeNames(), "|") + ")"
	expr := map[string]any{
		"type": "string", "pattern": `^\s*` + name + `\s*(\(.*\))?\s*\??\s*$`, "examples": canonicalize.TypeNames(),
		"description": "A type, as id, text(fold), money(currency), set(email); ? after it: absent and null are the same.",
	}
	return anyOf(expr, object(map[string]any{
		"type":    expr,
		"arg":     described(member{doc: "Where the value stands: a name, a dotted path, a JSON Pointer, or a list of which the first present counts.", schema: anyOf(typeText, listOfTexts)}),
		"default": map[string]any{"description": "What an absent value means."},
		"aliases": described(member{doc: "Other words for a value of an enum.", schema: mapOf(map[string]any{"type": []string{"string", "number", "boolean"}})}),
	}, "type"))
}
