package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"

	"agentgw/canonicalize"
)

// Documents that others wrote are read less strictly than calls and policies: names may differ in case only. What no reader can be sure
// of is refused all the same: a member that occurs twice, a second document.
const (
	maxLooseDepth  = 64
	maxLooseValues = 1 << 20 // aliases count as what they stand for
)

// looseJSON reads JSON.
func looseJSON(text []byte) (canonicalize.Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := looseReader{left: maxLooseValues}
	v, err := r.json(d, 0)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("something follows the JSON value")
		}
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends in the middle of a value")
	}
	if err != nil {
		return v, fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	return v, nil
}

// looseYAML reads one YAML document. Its only error is Errors, or that it is too large.
func looseYAML(src Source) (canonicalize.Value, error) {
	f, err := OpenFile(src)
	if err == nil {
		err = f.Err()
	}
	if err != nil {
		return canonicalize.Value{}, err
	}
	r := looseReader{left: maxLooseValues, anchored: map[*yaml.Node]sized{}}
	return r.yaml(f.Root, 0)
}

type looseReader struct {
	left     int // values that may still come
	anchored map[*yaml.Node]sized
}

// sized is a value that aliases may stand for, and how many values it is.
type sized struct {
	value canonicalize.Value
	size  int
}

func (r *looseReader) count(depth int) error {
	if r.left--; r.left < 0 {
		return fmt.Errorf("it holds more than a million values")
	}
	if depth > maxLooseDepth {
		return fmt.Errorf("it is nested deeper than %d", maxLooseDepth)
	}
	return nil
}

func (r *looseReader) json(d *json.Decoder, depth int) (v canonicalize.Value, err error) {
	if err = r.count(depth); err != nil {
		return v, err
	}
	token, err := d.Token()
	if err != nil {
		return v, err
	}
	switch t := token.(type) {
	case bool:
		v.Kind, v.Text = canonicalize.Bool, fmt.Sprint(t)
	case json.Number:
		v.Kind, v.Text = canonicalize.Number, t.String()
	case string:
		v.Kind, v.Text = canonicalize.String, t
	case json.Delim:
		if t == '[' {
			return r.jsonList(d, depth)
		}
		return r.jsonObject(d, depth)
	}
	return v, nil
}

func (r *looseReader) jsonList(d *json.Decoder, depth int) (canonicalize.Value, error) {
	v := canonicalize.Value{Kind: canonicalize.List}
	for d.More() {
		item, err := r.json(d, depth+1)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
	}
	_, err := d.Token()
	return v, err
}

func (r *looseReader) jsonObject(d *json.Decoder, depth int) (canonicalize.Value, error) {
	v := canonicalize.Value{Kind: canonicalize.Object}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return v, err
		}
		m := canonicalize.Member{Name: name.(string)}
		if seen[m.Name] {
			return v, fmt.Errorf("%q stands here a second time", m.Name)
		}
		seen[m.Name] = true
		if m.Value, err = r.json(d, depth+1); err != nil {
			return v, err
		}
		v.Members = append(v.Members, m)
	}
	_, err := d.Token()
	return v, err
}

func (r *looseReader) yaml(n *yaml.Node, depth int) (v canonicalize.Value, err error) {
	if known, ok := r.anchored[n]; ok {
		r.left -= known.size - 1
		return known.value, r.count(depth)
	}
	if n.Anchor != "" {
		before := r.left
		defer func() { r.anchored[n] = sized{v, before - r.left} }()
	}
	if err = r.count(depth); err != nil {
		return v, err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		v.Kind = canonicalize.List
		for _, item := range n.Content {
			one, err := r.yaml(item, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, one)
		}
	case yaml.MappingNode:
		v.Kind = canonicalize.Object
		for i := 0; i+1 < len(n.Content); i += 2 {
			m := canonicalize.Member{Name: n.Content[i].Value}
			if m.Value, err = r.yaml(n.Content[i+1], depth+1); err != nil {
				return v, err
			}
			v.Members = append(v.Members, m)
		}
	default:
		v = scalarJSON(n)
	}
	return v, nil
}
