package policy

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"agentgw/canonicalize"
)

// What an OpenAPI document may be at most.
const (
	maxOpenAPIBytes      = 16 << 20
	maxOpenAPIOperations = 2000
	maxOpenAPIRefs       = 16 // references one behind the other
)

// OpenAPITools reads the operations of an OpenAPI document (3.0 or 3.1, as JSON or YAML) as tools. A tool is named by its operationId, or
// by method and path; its arguments are those that the proxy door makes of a request: parameters of path and query, and the members of
// the body. GET and HEAD only read; OPTIONS and TRACE are no tools. Nothing outside of the document is fetched: a reference that leads
// there is an error, and so is everything that could be read in two ways. An error names the place as a JSON Pointer.
func OpenAPITools(src Source) ([]ToolFacts, error) {
	d, err := readOpenAPI(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	tools, err := d.tools()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	return tools, nil
}

// openAPI is one document.
type openAPI struct{ root canonicalize.Value }

func readOpenAPI(src Source) (*openAPI, error) {
	text := bytes.TrimPrefix(bytes.TrimSpace(src.Text), []byte("\ufeff"))
	if len(text) == 0 || len(text) > maxOpenAPIBytes {
		return nil, fmt.Errorf("the file is empty or larger than 16 MiB")
	}
	var root canonicalize.Value
	var err error
	if text[0] == '{' {
		root, err = looseJSON(text)
	} else {
		root, err = looseYAML(Source{Name: src.Name, Text: text})
	}
	if err != nil {
		return nil, err
	}
	d := &openAPI{root}
	version, _ := root.Member("openapi")
	if _, old := root.Member("swagger"); old {
		return nil, fmt.Errorf("it is of OpenAPI 2; convert it to OpenAPI 3")
	}
	if !strings.HasPrefix(version.Text, "3.0") && !strings.HasPrefix(version.Text, "3.1") {
		return nil, fmt.Errorf("/openapi is %q; documents of 3.0 and 3.1 are read", version.Text)
	}
	return d, nil
}

// verbs are the methods of tools, in the order in which they are drafted.
var verbs = []string{"get", "head", "post", "put", "patch", "delete"}

func (d *openAPI) tools() ([]ToolFacts, error) {
	paths, _ := d.root.Member("paths")
	var tools []ToolFacts
	routes := map[string]string{} // by tool name
	for _, p := range paths.Members {
		if !strings.HasPrefix(p.Name, "/") {
			continue // an extension
		}
		place := "/paths/" + escapePointer(p.Name)
		item, err := d.follow(p.Value, place)
		if err != nil {
			return nil, err
		}
		for _, verb := range verbs {
			op, ok := item.Member(verb)
			if !ok {
				continue
			}
			t, err := d.tool(verb, p.Name, item, op, place+"/"+verb)
			if err != nil {
				return nil, err
			}
			if other := routes[t.Name]; other != "" {
				return nil, fmt.Errorf("%s/%s: the operationId %s is also that of %s; each needs its own", place, verb, t.Name, other)
			}
			routes[t.Name] = t.Route
			if tools = append(tools, t); len(tools) > maxOpenAPIOperations {
				return nil, fmt.Errorf("it has more than %d operations; split it", maxOpenAPIOperations)
			}
		}
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("/paths has no operations")
	}
	return tools, nil
}

// tool reads one operation.
func (d *openAPI) tool(verb, path string, item, op canonicalize.Value, place string) (ToolFacts, error) {
	t := ToolFacts{Route: strings.ToUpper(verb) + " " + path, ReadOnly: verb == "get" || verb == "head"}
	t.Name = textOf(op, "operationId")
	if t.Name == "" {
		t.Name = t.Route
	}
	t.Description = strings.TrimSpace(textOf(op, "summary"))
	if more := textOf(op, "description"); t.Description == "" {
		t.Description = more
	} else if more != "" {
		t.Description = strings.TrimSuffix(t.Description, ".") + ". " + more
	}
	s := toolSchema{openAPI: d, left: maxOpenAPISchemas, required: map[string]bool{}}
	if err := s.parameters(item, op, strings.TrimSuffix(place, "/"+verb), place); err != nil {
		return t, err
	}
	if body, ok := op.Member("requestBody"); ok {
		if err := s.requestBody(body, place+"/requestBody"); err != nil {
			return t, err
		}
	}
	t.Partial = s.partial
	if s.left < 0 { // too large to be read
		t.Partial = true
		return t, nil
	}
	t.Schema = s.text()
	return t, nil
}

// follow returns what a value stands for: itself, or what its $ref points at in this document.
func (d *openAPI) follow(v canonicalize.Value, place string) (canonicalize.Value, error) {
	for range maxOpenAPIRefs {
		ref := textOf(v, "$ref")
		if ref == "" {
			return v, nil
		}
		target, err := d.find(ref)
		if err != nil {
			return v, fmt.Errorf("%s: %w", place, err)
		}
		v = target
	}
	return v, fmt.Errorf("%s: its references lead round in a circle", place)
}

// find is the value at a reference such as #/components/schemas/Order.
func (d *openAPI) find(ref string) (canonicalize.Value, error) {
	fragment, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return canonicalize.Value{}, fmt.Errorf("the reference %q leads out of the document; bundle it into one file", ref)
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		pointer = fragment
	}
	at := d.root
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		next, found := at.Member(token)
		if !found {
			return at, fmt.Errorf("the reference %q points at nothing", ref)
		}
		at = next
	}
	return at, nil
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// textOf is a member that is a string; "" where it is none.
func textOf(v canonicalize.Value, name string) string {
	m, _ := v.Member(name)
	if m.Kind != canonicalize.String {
		return ""
	}
	return m.Text
}

// bodyContent finds the content of a body that can be read by its schema, JSON before forms.
func bodyContent(content canonicalize.Value) (media canonicalize.Value, ok bool) {
	kinds := []func(string) bool{
		func(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") },
		func(kind string) bool { return kind == "application/x-www-form-urlencoded" },
		func(kind string) bool { return kind == "multipart/form-data" },
	}
	for _, is := range kinds {
		at := slices.IndexFunc(content.Members, func(m canonicalize.Member) bool {
			kind, _, _ := strings.Cut(m.Name, ";")
			return is(strings.ToLower(strings.TrimSpace(kind)))
		})
		if at >= 0 {
			return content.Members[at].Value, true
		}
	}
	return canonicalize.Value{}, false
}
