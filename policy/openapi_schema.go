package policy

import (
	"fmt"
	"slices"

	"agentgw/canonicalize"
)

const (
	maxOpenAPISchemas = 5000 // schemas of one operation, references written out
	maxOpenAPIDepth   = 8    // deeper ones do not tell calls apart in a draft
)

// toolSchema collects the JSON Schema of the arguments of one operation.
type toolSchema struct {
	*openAPI
	left       int // schemas that may still come; below zero: too many
	properties []canonicalize.Member
	required   map[string]bool
	body       *canonicalize.Value
	partial    bool // there are arguments that no schema names
}

// text is the schema as JSON. A parameter goes before a member of the body that has its name.
func (s *toolSchema) text() []byte {
	names := canonicalize.Value{Kind: canonicalize.List}
	for _, p := range s.properties {
		if s.required[p.Name] {
			names.Items = append(names.Items, stringValue(p.Name))
		}
	}
	root := jsonObject(canonicalize.Member{Name: "type", Value: stringValue("object")},
		canonicalize.Member{Name: "properties", Value: jsonObject(s.properties...)}, canonicalize.Member{Name: "required", Value: names})
	if s.body != nil {
		root.Members = append(root.Members, canonicalize.Member{Name: "allOf", Value: canonicalize.Value{Kind: canonicalize.List, Items: []canonicalize.Value{*s.body}}})
	}
	return root.AppendJSON(nil)
}

// parameters reads those of path and query, of the path item and of the operation, which override them. Headers and cookies are no
// arguments.
func (s *toolSchema) parameters(item, op canonicalize.Value, itemPlace, opPlace string) error {
	for _, from := range []struct {
		holder canonicalize.Value
		place  string
	}{{item, itemPlace}, {op, opPlace}} {
		list, _ := from.holder.Member("parameters")
		for i, p := range list.Items {
			place := fmt.Sprintf("%s/parameters/%d", from.place, i)
			p, err := s.follow(p, place)
			if err != nil {
				return err
			}
			if in := textOf(p, "in"); in != "path" && in != "query" {
				continue
			}
			if err := s.parameter(p, place); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *toolSchema) parameter(p canonicalize.Value, place string) error {
	name := textOf(p, "name")
	if name == "" {
		return fmt.Errorf("%s: the parameter has no name", place)
	}
	schema, ok := p.Member("schema")
	if !ok {
		schema = jsonObject() // of a content: a text that holds one
	}
	schema, err := s.inline(schema, place+"/schema", nil, 1)
	if err != nil {
		return err
	}
	if about := textOf(p, "description"); about != "" {
		schema = with(schema, "description", stringValue(about))
	}
	said, _ := p.Member("required")
	s.set(name, schema, said.Text == "true" || textOf(p, "in") == "path")
	return nil
}

func (s *toolSchema) set(name string, schema canonicalize.Value, required bool) {
	s.required[name] = required
	at := slices.IndexFunc(s.properties, func(m canonicalize.Member) bool { return m.Name == name })
	if at < 0 {
		s.properties = append(s.properties, canonicalize.Member{Name: name, Value: schema})
		return
	}
	s.properties[at].Value = schema
}

// requestBody reads the body. One that is no object with named members is the argument "body", as at the proxy door; one that has no
// schema that can be read leaves the arguments unnamed.
func (s *toolSchema) requestBody(body canonicalize.Value, place string) error {
	body, err := s.follow(body, place)
	if err != nil {
		return err
	}
	content, _ := body.Member("content")
	media, ok := bodyContent(content)
	schema, has := media.Member("schema")
	if !ok || !has {
		s.partial = true
		return nil
	}
	if schema, err = s.inline(schema, place, nil, 0); err != nil || s.left < 0 {
		return err
	}
	schema = alternatives(schema)
	read, err := canonicalize.ParseSchema(schema.AppendJSON(nil))
	kind := textOf(schema, "type")
	required, _ := body.Member("required")
	switch {
	case err == nil && len(read.Properties) > 0:
		s.body = &schema
		more, said := schema.Member("additionalProperties")
		s.partial = said && more.Text != "false"
	case err == nil && kind != "" && kind != "object":
		s.set("body", schema, required.Text == "true")
	default:
		s.partial = true
	}
	return nil
}

// alternatives makes one schema of several that a body may follow: the members of all of them, none of them required.
func alternatives(schema canonicalize.Value) canonicalize.Value {
	out := canonicalize.Value{Kind: canonicalize.Object}
	for _, m := range schema.Members {
		list := m.Value.Items
		switch {
		case m.Name == "allOf":
			list = slices.Clone(list)
			for i := range list {
				list[i] = alternatives(list[i])
			}
			m.Value.Items = list
		case (m.Name == "oneOf" || m.Name == "anyOf") && len(list) > 1:
			branches := canonicalize.Value{Kind: canonicalize.List}
			for _, b := range list {
				b = alternatives(b)
				b.Members = slices.DeleteFunc(slices.Clone(b.Members), func(m canonicalize.Member) bool { return m.Name == "required" })
				branches.Items = append(branches.Items, b)
			}
			if all, ok := out.Member("allOf"); ok {
				branches.Items = append(slices.Clone(all.Items), branches.Items...)
			}
			out = with(out, "allOf", branches)
			continue
		}
		if before, ok := out.Member(m.Name); ok && m.Name == "allOf" {
			m.Value.Items = append(slices.Clone(before.Items), m.Value.Items...)
		}
		out = with(out, m.Name, m.Value)
	}
	return out
}

// inline writes a schema out: what it refers to stands in it, a reference that leads back into itself says nothing, and of the words only
// those are kept that tell values apart. open are the references being written out.
func (s *toolSchema) inline(v canonicalize.Value, place string, open []string, depth int) (canonicalize.Value, error) {
	out := jsonObject()
	if s.left--; s.left < 0 || depth > maxOpenAPIDepth {
		return out, nil
	}
	if ref := textOf(v, "$ref"); ref != "" {
		if slices.Contains(open, ref) {
			return out, nil
		}
		target, err := s.find(ref)
		if err != nil {
			return out, fmt.Errorf("%s: %w", place, err)
		}
		return s.inline(target, ref, append(slices.Clip(open), ref), depth)
	}
	for _, m := range v.Members {
		value, keep, err := s.word(m, place, open, depth)
		if err != nil {
			return out, err
		}
		if keep {
			out.Members = append(out.Members, canonicalize.Member{Name: m.Name, Value: value})
		}
	}
	return out, nil
}

// word writes one member of a schema out.
func (s *toolSchema) word(m canonicalize.Member, place string, open []string, depth int) (v canonicalize.Value, keep bool, err error) {
	place += "/" + m.Name
	switch m.Name {
	case "type", "format", "enum", "const", "default", "description", "title", "required", "additionalProperties":
		return m.Value, true, nil
	case "items":
		v, err = s.inline(m.Value, place, open, depth+1)
		return v, true, err
	case "properties":
		v = jsonObject()
		for _, p := range m.Value.Members {
			if only, _ := p.Value.Member("readOnly"); only.Text == "true" {
				continue // answers have it
			}
			child, err := s.inline(p.Value, place+"/"+escapePointer(p.Name), open, depth+1)
			if err != nil {
				return v, false, err
			}
			v.Members = append(v.Members, canonicalize.Member{Name: p.Name, Value: child})
		}
		return v, true, nil
	case "allOf", "anyOf", "oneOf":
		v = canonicalize.Value{Kind: canonicalize.List}
		for _, b := range m.Value.Items {
			branch, err := s.inline(b, place, open, depth)
			if err != nil {
				return v, false, err
			}
			v.Items = append(v.Items, branch)
		}
		return v, true, nil
	}
	return v, false, nil
}

func jsonObject(members ...canonicalize.Member) canonicalize.Value {
	return canonicalize.Value{Kind: canonicalize.Object, Members: members}
}

func stringValue(s string) canonicalize.Value {
	return canonicalize.Value{Kind: canonicalize.String, Text: s}
}

// with is an object with one member set.
func with(v canonicalize.Value, name string, value canonicalize.Value) canonicalize.Value {
	members := slices.DeleteFunc(slices.Clone(v.Members), func(m canonicalize.Member) bool { return m.Name == name })
	return jsonObject(append(members, canonicalize.Member{Name: name, Value: value})...)
}
