package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
)

// wholeBody is the argument that holds a JSON body which is not an object.
const wholeBody = "body"

// Arguments assembles the arguments of a proxied request from its path parameters, its query and its body: the JSON text of one object.
// A JSON object without company is taken byte for byte. What two readers could read in two ways is an error, a *canonicalize.Error:
// a body of unknown type or charset, a name in both query and body, a path parameter that another value contradicts.
func Arguments(req *agentgw.Request, params map[string]string) ([]byte, error) {
	query, err := queryFields(req.Query)
	if err != nil {
		return nil, err
	}
	body, text, err := bodyFields(req)
	if err != nil {
		return nil, err
	}
	if text != "" && len(params) == 0 && len(query) == 0 {
		return []byte(text), nil
	}
	all, err := join(params, query, body)
	if err != nil {
		return nil, err
	}
	size := len(req.Query) + len(req.Body)
	for name, value := range params {
		size += len(name) + len(value) + 8
	}
	return canonicalize.Value{Kind: canonicalize.Object, Members: all}.AppendJSON(make([]byte, 0, size+16)), nil
}

// opaque are the arguments of a request that cannot be read and that nobody guards: its query and its body are what they are.
func opaque(req *agentgw.Request) []byte {
	v := canonicalize.Value{Kind: canonicalize.Object}
	if req.Query != "" {
		v.Members = append(v.Members, canonicalize.Member{Name: "@query", Value: textValue(strings.ToValidUTF8(req.Query, "?"))})
	}
	if len(req.Body) > 0 {
		v.Members = append(v.Members, canonicalize.Member{Name: "@body", Value: textValue(digest(req.Body))})
	}
	return v.AppendJSON(nil)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// join puts the three sources of arguments together. A path parameter may be said again with the same text, as REST clients do.
func join(params map[string]string, query, body []canonicalize.Member) ([]canonicalize.Member, error) {
	names := make(map[string]bool, len(query))
	for _, m := range query {
		names[m.Name] = true
	}
	for _, m := range body {
		if names[m.Name] {
			return nil, unreadable("/"+m.Name, "stands in both query and body", "send it once")
		}
	}
	all := make([]canonicalize.Member, 0, len(params)+len(query)+len(body))
	for name, value := range params {
		all = append(all, canonicalize.Member{Name: name, Value: textValue(value)})
	}
	slices.SortFunc(all, func(a, b canonicalize.Member) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range slices.Concat(query, body) {
		value, inPath := params[m.Name]
		if !inPath {
			all = append(all, m)
		} else if m.Value.Text != value || m.Value.Kind == canonicalize.List || m.Value.Kind == canonicalize.Object {
			return nil, unreadable("/"+m.Name, "is "+value+" in the path and something else in query or body", "send one value")
		}
	}
	return all, nil
}

// bodyFields reads a body by its declared type. text is the JSON text of a body that is one object.
func bodyFields(req *agentgw.Request) (fields []canonicalize.Member, text string, err error) {
	if len(req.Body) == 0 {
		return nil, "", nil
	}
	if enc := one(req.Header, "Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, "", unreadable("Content-Encoding", "is "+enc, "send the body uncompressed")
	}
	declared := one(req.Header, "Content-Type")
	if declared == "" {
		return nil, "", unreadable("Content-Type", "is absent or given twice", "say once what the body is, such as application/json")
	}
	if declared == "application/json" { // what most say
		return jsonFields(req.Body, "")
	}
	kind, params, err := mime.ParseMediaType(declared)
	if err != nil {
		return nil, "", unreadable("Content-Type", err.Error(), "write it as in application/json; charset=utf-8")
	}
	switch {
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		return jsonFields(req.Body, params["charset"])
	case kind == "application/x-www-form-urlencoded":
		fields, err = formFields(string(req.Body), params["charset"], "body")
	case kind == "multipart/form-data":
		fields, err = multipartFields(req.Body, params["boundary"])
	case kind == "application/xml", kind == "text/xml", strings.HasSuffix(kind, "+xml"):
		fields, err = xmlFields(req.Body, params["charset"])
	default:
		err = unreadable("Content-Type", kind+" cannot be read for arguments", "send JSON, a form, multipart/form-data or XML")
	}
	return fields, "", err
}

func jsonFields(body []byte, charset string) ([]canonicalize.Member, string, error) {
	text, err := decodeText(body, charset)
	if err != nil {
		return nil, "", err
	}
	v, err := canonicalize.Parse([]byte(text))
	if err != nil {
		return nil, "", err
	}
	if v.Kind != canonicalize.Object {
		return []canonicalize.Member{{Name: wholeBody, Value: v}}, "", nil
	}
	return v.Members, text, nil
}

func queryFields(query string) ([]canonicalize.Member, error) {
	if query == "" {
		return nil, nil
	}
	return formFields(query, "", "query")
}

// formFields reads application/x-www-form-urlencoded (WHATWG URL, section 5), percent escapes in the declared charset.
func formFields(s, charset, place string) ([]canonicalize.Member, error) {
	values, err := url.ParseQuery(s)
	if err != nil {
		return nil, unreadable(place, err.Error(), "separate fields by & and write escapes as %XX")
	}
	fields := make(map[string][]canonicalize.Value, len(values))
	for rawName, list := range values {
		name, err := decodeText([]byte(rawName), charset)
		if err != nil {
			return nil, err
		}
		for _, raw := range list {
			text, err := decodeText([]byte(raw), charset)
			if err != nil {
				return nil, at(err, "/"+name)
			}
			fields[name] = append(fields[name], textValue(text))
		}
	}
	return listed(fields), nil
}

// multipartFields reads multipart/form-data (RFC 7578). A file counts by its digest: who sends the same bytes sends the same value.
func multipartFields(body []byte, boundary string) ([]canonicalize.Member, error) {
	if boundary == "" {
		return nil, unreadable("Content-Type", "multipart/form-data without a boundary", "declare the boundary")
	}
	fields := make(map[string][]canonicalize.Value)
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return listed(fields), nil
		}
		if err != nil {
			return nil, unreadable("body", err.Error(), "send whole parts, the last closed by --boundary--")
		}
		name := part.FormName()
		if name == "" {
			return nil, unreadable("body", "a part has no name", `give each part Content-Disposition: form-data; name="…"`)
		}
		value, err := partValue(part)
		if err != nil {
			return nil, at(err, "/"+name)
		}
		fields[name] = append(fields[name], value)
	}
}

func partValue(part *multipart.Part) (canonicalize.Value, error) {
	content, err := io.ReadAll(part)
	if err != nil {
		return canonicalize.Value{}, unreadable("", err.Error(), "send whole parts, the last closed by --boundary--")
	}
	if enc := part.Header.Get("Content-Transfer-Encoding"); enc != "" && !slices.Contains([]string{"7bit", "8bit", "binary"}, strings.ToLower(enc)) {
		return canonicalize.Value{}, unreadable("", "has Content-Transfer-Encoding "+enc, "send the part as it is (RFC 7578, 4.7)")
	}
	if isFile(part.Header) {
		return textValue(digest(content)), nil
	}
	kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil && part.Header.Get("Content-Type") != "" {
		return canonicalize.Value{}, unreadable("", "Content-Type: "+err.Error(), "correct it or leave it away")
	}
	text, err := decodeText(content, params["charset"])
	if err != nil {
		return canonicalize.Value{}, err
	}
	if kind == "application/json" {
		return canonicalize.Parse([]byte(text))
	}
	return textValue(text), nil
}

// isFile reports whether a part names a file, be the name empty.
func isFile(h textproto.MIMEHeader) bool {
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil {
		return false
	}
	_, named := params["filename"]
	return named
}

// listed makes members of fields, sorted by name; what occurs several times is a list.
func listed(fields map[string][]canonicalize.Value) []canonicalize.Member {
	members := make([]canonicalize.Member, 0, len(fields))
	for name, values := range fields {
		members = append(members, canonicalize.Member{Name: name, Value: oneOrList(values)})
	}
	slices.SortFunc(members, func(a, b canonicalize.Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}

func oneOrList(values []canonicalize.Value) canonicalize.Value {
	if len(values) == 1 {
		return values[0]
	}
	return canonicalize.Value{Kind: canonicalize.List, Items: values}
}

func textValue(s string) canonicalize.Value {
	return canonicalize.Value{Kind: canonicalize.String, Text: s}
}

// one is the value of a header that occurs once, "" where it is absent or occurs more often.
func one(header []agentgw.Header, name string) string {
	found, times := "", 0
	for _, h := range header {
		if strings.EqualFold(h.Name, name) {
			found, times = h.Value, times+1
		}
	}
	if times != 1 {
		return ""
	}
	return found
}

func unreadable(place, reason, remedy string) error {
	return &canonicalize.Error{Place: place, Reason: reason, Remedy: remedy}
}

// at puts an error below a place.
func at(err error, place string) error {
	var e *canonicalize.Error
	if !errors.As(err, &e) {
		return err
	}
	own := *e
	own.Place = place + own.Place
	return &own
}
