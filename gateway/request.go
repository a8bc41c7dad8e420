package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"agentgw/canonicalize"

	"github.com/beevik/etree"
)

// wanted is the request that a tool makes of its arguments.
type wanted struct {
	path, query, contentType string
	body                     []byte
}

func (t *Tool) method() string {
	if t.Method == "" {
		return http.MethodPost
	}
	return t.Method
}

// Fits says why no request can be made of these arguments: one that the path needs is absent, or a form cannot hold one. The error is
// a *canonicalize.Error; nil: they fit.
func (t *Tool) Fits(args canonicalize.Value) error {
	_, err := t.request(args)
	return err
}

// request fills the path from the arguments. What is left is the query of a method that has no body, and the body of the others; all
// arguments as a JSON body go out byte for byte.
func (t *Tool) request(args canonicalize.Value) (wanted, error) {
	template, query, _ := strings.Cut(t.Path, "?")
	path, used, err := fillPath(template, args)
	if err != nil {
		return wanted{}, err
	}
	w := wanted{path: path, query: query}
	rest := args
	if len(used) > 0 {
		rest = canonicalize.Value{Kind: canonicalize.Object}
		for _, m := range args.Members {
			if !used[m.Name] {
				rest.Members = append(rest.Members, m)
			}
		}
	}
	switch m := t.method(); {
	case m == http.MethodGet || m == http.MethodHead || m == http.MethodDelete:
		more, err := encodeForm(rest)
		w.query = strings.Trim(query+"&"+more, "&")
		return w, err
	case t.Body == "form":
		text, err := encodeForm(rest)
		w.contentType, w.body = "application/x-www-form-urlencoded", []byte(text)
		return w, err
	case t.Body == "xml":
		w.contentType = "application/xml; charset=utf-8"
		w.body, err = encodeXML(t.Name, rest)
		return w, err
	}
	w.contentType, w.body = "application/json", []byte(rest.Raw())
	return w, nil
}

var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// fillPath puts arguments into a path. They cannot leave their segment: slashes are escaped, and what an upstream could read as a dot
// segment is refused.
func fillPath(template string, args canonicalize.Value) (path string, used map[string]bool, err error) {
	used = make(map[string]bool)
	path = placeholder.ReplaceAllStringFunc(template, func(hole string) string {
		name := hole[1 : len(hole)-1]
		used[name] = true
		v, ok := args.Member(name)
		text, scalar := scalarText(v)
		switch {
		case !ok || !scalar || text == "":
			err = unreadable("/"+name, "is needed in the path "+template, "send a text or a number")
		case climbs(text):
			err = unreadable("/"+name, "is not a name: it leads to another path", "send it without . or .. between slashes")
		}
		return url.PathEscape(text)
	})
	return path, used, err
}

// climbs reports whether a value, decoded again or split at slashes by a careless upstream, holds a dot segment.
func climbs(text string) bool {
	if again, err := url.PathUnescape(text); err == nil && again != text && climbs(again) {
		return true
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part, _, _ = strings.Cut(part, ";"); part == "." || part == ".." {
			return true
		}
	}
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// scalarText is the text of a value that is neither null, a list nor an object.
func scalarText(v canonicalize.Value) (string, bool) {
	return v.Text, v.Kind == canonicalize.String || v.Kind == canonicalize.Number || v.Kind == canonicalize.Bool
}

// encodeForm writes an object as application/x-www-form-urlencoded in its order: lists as repeated fields, null as nothing.
func encodeForm(v canonicalize.Value) (string, error) {
	var b strings.Builder
	for _, m := range v.Members {
		values := []canonicalize.Value{m.Value}
		if m.Value.Kind == canonicalize.List {
			values = m.Value.Items
		}
		for _, item := range values {
			text, scalar := scalarText(item)
			if item.Kind == canonicalize.Null {
				continue
			}
			if !scalar {
				return "", unreadable("/"+m.Name, "is "+item.Kind.String(), "a form holds texts, numbers and lists of them")
			}
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			b.WriteString(url.QueryEscape(m.Name) + "=" + url.QueryEscape(text))
		}
	}
	return b.String(), nil
}

// xmlName is a name without namespace (Namespaces in XML, NCName), in the letters that people use.
var xmlName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}._-]*$`)

// encodeXML writes an object as the children of an element named as the tool: the counterpart of xmlFields.
func encodeXML(root string, v canonicalize.Value) ([]byte, error) {
	doc := etree.NewDocument()
	doc.CreateProcInst("xml", `version="1.0" encoding="UTF-8"`)
	if err := addElement(&doc.Element, root, v); err != nil {
		return nil, err
	}
	return doc.WriteToBytes()
}

func addElement(parent *etree.Element, name string, v canonicalize.Value) error {
	if !xmlName.MatchString(name) {
		return unreadable("/"+name, "is no name of an XML element", "send letters, digits, _ and -")
	}
	if v.Kind == canonicalize.List {
		for _, item := range v.Items {
			if item.Kind == canonicalize.List {
				return unreadable("/"+name, "is a list in a list", "XML has only one kind of repetition")
			}
			if err := addElement(parent, name, item); err != nil {
				return err
			}
		}
		return nil
	}
	e := parent.CreateElement(name)
	if v.Kind != canonicalize.Object {
		return setText(e, v)
	}
	for _, m := range v.Members {
		attr, isAttr := strings.CutPrefix(m.Name, "@")
		text, scalar := scalarText(m.Value)
		switch {
		case m.Name == xmlText:
			if err := setText(e, m.Value); err != nil {
				return err
			}
		case isAttr && (!scalar || !xmlName.MatchString(attr) || !xmlChars(text)):
			return unreadable("/"+name+"/"+m.Name, "cannot be an attribute", "send a text under a plain name")
		case isAttr:
			e.CreateAttr(attr, text)
		default:
			if err := addElement(e, m.Name, m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func setText(e *etree.Element, v canonicalize.Value) error {
	if v.Kind == canonicalize.Null {
		return nil
	}
	text, scalar := scalarText(v)
	if !scalar || !xmlChars(text) {
		return unreadable("/"+e.Tag, fmt.Sprintf("%.40q cannot stand in XML", v.Raw()), "send a text without control characters")
	}
	e.SetText(text)
	return nil
}

// xmlChars reports whether a text is made of the characters that XML 1.0 allows.
func xmlChars(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	})
}
