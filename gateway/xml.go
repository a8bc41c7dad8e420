package gateway

import (
	"bytes"
	"regexp"
	"strings"

	"agentgw/canonicalize"

	"github.com/beevik/etree"
)

// xmlText is the member that holds the text of an element which also has attributes, and the text of the root.
const xmlText = "#text"

// soapNamespaces are the envelopes of SOAP 1.1 and 1.2.
var soapNamespaces = []string{"http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"}

// xmlFields reads XML: elements by local name below the root (SOAP: below Body), attributes as @name, repeats as lists. Documents with
// a DOCTYPE, entities of their own, two roots, repeated attributes, or text among elements are refused: readers differ over them.
func xmlFields(body []byte, declared string) ([]canonicalize.Member, error) {
	text, err := xmlDecode(body, declared)
	if err != nil {
		return nil, err
	}
	doc := etree.NewDocument()
	doc.ReadSettings = etree.ReadSettings{PreserveDuplicateAttrs: true, MaxDepth: canonicalize.MaxDepth}
	if err := doc.ReadFromString(text); err != nil {
		return nil, unreadable("body", err.Error(), "send one well-formed XML document")
	}
	root, err := onlyRoot(doc)
	if err != nil {
		return nil, err
	}
	if isSOAP(root) {
		if root, err = soapBody(root); err != nil {
			return nil, err
		}
		root.Attr = nil // of Body itself: ids of signatures and the like
	}
	v, err := elementValue(root, "")
	if err != nil {
		return nil, err
	}
	if v.Kind != canonicalize.Object {
		return []canonicalize.Member{{Name: xmlText, Value: v}}, nil
	}
	return v.Members, nil
}

// xmlDeclaration finds the encoding that a document of an ASCII-compatible charset declares.
var xmlDeclaration = regexp.MustCompile(`^<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

// xmlDecode is the document as UTF-8. The charset is what the byte order mark, the Content-Type or the XML declaration says (RFC 7303,
// 3.2), and two that disagree are refused.
func xmlDecode(body []byte, declared string) (string, error) {
	inside := ""
	if m := xmlDeclaration.FindSubmatch(bytes.TrimPrefix(body, byteOrderMark)); m != nil {
		inside = string(m[1])
	}
	switch {
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}), bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		if declared != "" && !strings.HasPrefix(strings.ToLower(declared), "utf-16") {
			return "", unreadable("Content-Type", "says "+declared+", but the body is UTF-16", "declare utf-16")
		}
		return decodeText(body, "utf-16")
	case declared == "":
		return decodeText(body, inside)
	case inside != "" && !sameCharset(declared, inside):
		return "", unreadable("Content-Type", "says "+declared+", but the XML declaration says "+inside, "declare one charset")
	}
	return decodeText(body, declared)
}

func onlyRoot(doc *etree.Document) (*etree.Element, error) {
	var root *etree.Element
	for _, token := range doc.Child {
		switch t := token.(type) {
		case *etree.Element:
			if root != nil {
				return nil, unreadable("body", "has two root elements", "send one XML document")
			}
			root = t
		case *etree.Directive:
			return nil, unreadable("body", "has a DOCTYPE", "send the document without one")
		case *etree.CharData:
			if !t.IsWhitespace() {
				return nil, unreadable("body", "has text outside the root element", "send one XML document")
			}
		}
	}
	if root == nil {
		return nil, unreadable("body", "has no root element", "send one XML document")
	}
	return root, nil
}

func isSOAP(e *etree.Element) bool {
	if e.Tag != "Envelope" {
		return false
	}
	uri := e.NamespaceURI()
	return uri == soapNamespaces[0] || uri == soapNamespaces[1]
}

func soapBody(envelope *etree.Element) (*etree.Element, error) {
	var body *etree.Element
	for _, e := range envelope.ChildElements() {
		if e.Tag != "Body" || e.NamespaceURI() != envelope.NamespaceURI() {
			continue
		}
		if body != nil {
			return nil, unreadable("body", "has two SOAP bodies", "send one")
		}
		body = e
	}
	if body == nil {
		return nil, unreadable("body", "has no SOAP Body", "send an Envelope with one Body")
	}
	return body, nil
}

// elementValue is the text of an element that has nothing else, and an object otherwise.
func elementValue(e *etree.Element, place string) (canonicalize.Value, error) {
	members, err := attributes(e, place)
	if err != nil {
		return canonicalize.Value{}, err
	}
	var text strings.Builder
	blank := true
	var names []string
	children := make(map[string][]canonicalize.Value)
	for _, token := range e.Child {
		switch t := token.(type) {
		case *etree.CharData:
			text.WriteString(t.Data)
			blank = blank && t.IsWhitespace()
		case *etree.Directive:
			return canonicalize.Value{}, unreadable(place, "has a declaration inside", "send the document without one")
		case *etree.Element:
			v, err := elementValue(t, place+"/"+t.Tag)
			if err != nil {
				return v, err
			}
			if len(children[t.Tag]) == 0 {
				names = append(names, t.Tag)
			}
			children[t.Tag] = append(children[t.Tag], v)
		}
	}
	switch {
	case len(names) == 0 && len(members) == 0:
		return textValue(text.String()), nil
	case len(names) == 0 && text.Len() > 0:
		members = append(members, canonicalize.Member{Name: xmlText, Value: textValue(text.String())})
	case len(names) > 0 && !blank:
		return canonicalize.Value{}, unreadable(place, "has text among elements", "put the text into an element of its own")
	}
	for _, name := range names {
		members = append(members, canonicalize.Member{Name: name, Value: oneOrList(children[name])})
	}
	return canonicalize.Value{Kind: canonicalize.Object, Members: members}, nil
}

// attributes are the attributes of an element by local name, without namespace declarations.
func attributes(e *etree.Element, place string) ([]canonicalize.Member, error) {
	var members []canonicalize.Member
	seen := make(map[string]bool, len(e.Attr))
	for _, a := range e.Attr {
		full := a.FullKey()
		if seen[full] || seen["@"+a.Key] {
			return nil, unreadable(place+"/@"+a.Key, "occurs twice", "send each attribute once")
		}
		seen[full] = true
		if a.Space == "xmlns" || full == "xmlns" {
			continue
		}
		seen["@"+a.Key] = true
		members = append(members, canonicalize.Member{Name: "@" + a.Key, Value: textValue(a.Value)})
	}
	return members, nil
}
