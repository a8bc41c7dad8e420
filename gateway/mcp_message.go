package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agentgw/canonicalize"
)

// Error codes of JSON-RPC 2.0 and of MCP 2026-07-28 that the door itself gives.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInternal       = -32603
	codeInvalidParams  = -32602
	codeHeaderMismatch = -32020
	codeNoCapability   = -32021
	codeVersion        = -32022
	codeURLElicitation = -32042 // 2025-11-25: the tool has not begun, the user has to open a page first
)

// maxMessage is the largest message that is taken from a server, in bytes.
const maxMessage = 32 << 20

// rpc is a JSON-RPC message of a client as it came, with what the door reads of it.
type rpc struct {
	raw    []byte
	id     string // JSON text; "" in a notification
	method string // "" in a response
	params canonicalize.Value
}

// rpcError is a JSON-RPC error of the door's own.
type rpcError struct {
	code    int
	message string
	data    string // JSON; "" for none
}

func (e *rpcError) Error() string { return e.message }

// readRPC reads a message strictly: what two parsers could read differently (members that occur twice, text that is not UTF-8) is
// refused, because one of the two would be the guard and the other the tool.
func readRPC(b []byte) (*rpc, error) {
	v, err := canonicalize.Parse(b)
	switch {
	case err != nil:
		return nil, &rpcError{code: codeParse, message: "The message cannot be read: " + err.Error() + "."}
	case v.Kind == canonicalize.List:
		return nil, &rpcError{code: codeInvalidRequest, message: "Batches are not taken; send the messages one by one."}
	case v.Kind != canonicalize.Object:
		return nil, &rpcError{code: codeInvalidRequest, message: "The message is " + v.Kind.String() + ", not a JSON-RPC message."}
	}
	m := &rpc{raw: b}
	version, _ := v.Member("jsonrpc")
	id, hasID := v.Member("id")
	method, hasMethod := v.Member("method")
	m.method = method.Text
	m.params, _ = v.Member("params")
	switch {
	case version.Kind != canonicalize.String || version.Text != "2.0":
		return nil, &rpcError{code: codeInvalidRequest, message: `The message is not JSON-RPC 2.0: "jsonrpc" must be "2.0".`}
	case hasMethod && (method.Kind != canonicalize.String || method.Text == ""):
		return nil, &rpcError{code: codeInvalidRequest, message: `"method" must be a name.`}
	case hasID && id.Kind != canonicalize.String && id.Kind != canonicalize.Number && (hasMethod || id.Kind != canonicalize.Null):
		return nil, &rpcError{code: codeInvalidRequest, message: `"id" must be a text or a number.`}
	case !hasMethod && !hasID:
		return nil, &rpcError{code: codeInvalidRequest, message: `The message has neither "method" nor "id".`}
	}
	if hasID {
		m.id = id.Raw()
	}
	return m, nil
}

// request reports whether the message wants an answer.
func (m *rpc) request() bool { return m.method != "" && m.id != "" }

// meta is a text of params._meta, "" where there is none.
func (m *rpc) meta(name string) string {
	meta, _ := m.params.Member("_meta")
	v, _ := meta.Member(name)
	if v.Kind != canonicalize.String {
		return ""
	}
	return v.Text
}

// respond writes a response: member is "result" or "error".
func respondRPC(id, member string, value []byte) []byte {
	if id == "" {
		id = "null"
	}
	b := make([]byte, 0, len(value)+len(id)+len(member)+32)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, id...), `,"`...)
	b = append(append(b, member...), `":`...)
	return append(append(b, value...), '}')
}

// errorRPC writes an error response.
func errorRPC(id string, e *rpcError) []byte {
	value := fmt.Appendf(nil, `{"code":%d,"message":%s`, e.code, quoted(e.message))
	if e.data != "" {
		value = append(append(value, `,"data":`...), e.data...)
	}
	return respondRPC(id, "error", append(value, '}'))
}

// member is one member of an object and where its value stands in the text.
type member struct {
	name       string
	start, end int
}

// membersOf finds the members of a JSON object without changing or copying a byte of it.
func membersOf(b []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	var all []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		start, end, err := skipValue(dec)
		if err != nil {
			return nil, err
		}
		all = append(all, member{name.(string), start, end})
	}
	_, err := dec.Token()
	return all, err
}

// itemsOf finds the items of a JSON list, likewise.
func itemsOf(b []byte) (items [][]byte, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("is not a JSON list")
	}
	for dec.More() {
		start, end, err := skipValue(dec)
		if err != nil {
			return nil, err
		}
		items = append(items, b[start:end:end])
	}
	_, err = dec.Token()
	return items, err
}

// skipValue reads over one value and says where it stands.
func skipValue(dec *json.Decoder) (start, end int, err error) {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return 0, 0, err
	}
	end = int(dec.InputOffset())
	return end - len(raw), end, nil
}

// memberOf is the text of one member's value; nil where the object has none or is none.
func memberOf(b []byte, name string) []byte {
	all, err := membersOf(b)
	if err != nil {
		return nil
	}
	for _, m := range all {
		if m.name == name {
			return b[m.start:m.end:m.end]
		}
	}
	return nil
}

// setMember puts a member into an object and leaves every other byte as it is. What is no object is returned as it came.
func setMember(b []byte, name string, value []byte) []byte {
	all, err := membersOf(b)
	if err != nil {
		return b
	}
	for _, m := range all {
		if m.name == name {
			return splice(b, m.start, m.end, value)
		}
	}
	text := append(append(quoted(name), ':'), value...)
	if len(all) > 0 {
		text = append(text, ',')
	}
	open := bytes.IndexByte(b, '{') + 1
	return splice(b, open, open, text)
}

// dropMember takes a member out of an object and leaves every other byte as it is.
func dropMember(b []byte, name string) []byte {
	all, err := membersOf(b)
	if err != nil {
		return b
	}
	for i, m := range all {
		switch {
		case m.name != name:
		case i > 0:
			return splice(b, all[i-1].end, m.end, nil)
		case len(all) == 1:
			return splice(b, bytes.IndexByte(b, '{')+1, m.end, nil)
		default:
			return splice(b, bytes.IndexByte(b, '{')+1, m.end+bytes.IndexByte(b[m.end:], ',')+1, nil)
		}
	}
	return b
}

func splice(b []byte, start, end int, text []byte) []byte {
	out := make([]byte, 0, len(b)-(end-start)+len(text))
	return append(append(append(out, b[:start]...), text...), b[end:]...)
}

// withMeta adds to the _meta of a result: name, text, name, text…
func withMeta(result []byte, pairs ...string) []byte {
	meta := memberOf(result, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		meta = []byte("{}")
	}
	for i := len(pairs) - 2; i >= 0; i -= 2 {
		if pairs[i+1] != "" {
			meta = setMember(meta, pairs[i], quoted(pairs[i+1]))
		}
	}
	return setMember(result, "_meta", meta)
}

// oneLine is a JSON text without line breaks: they can only stand between its tokens.
func oneLine(b []byte) []byte {
	if !bytes.ContainsAny(b, "\r\n") {
		return b
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(b)))
}
