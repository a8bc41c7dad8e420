package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Source is the text of one policy file.
type Source struct {
	Name string // as it stands in messages
	Text []byte
}

// document reads the one YAML document of a source as it is written. Its only error is Errors.
func document(src Source) (*yaml.Node, error) {
	fail := func(line, col int, message, remedy string) (*yaml.Node, error) {
		return nil, Errors{{src.Name, line, col, message, remedy}}
	}
	if line, col, bad := unreadable(src.Text); bad != "" {
		return fail(line, col, bad, "save the file as UTF-8 text")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src.Text))
	if err != nil {
		return fail(0, 0, err.Error(), "")
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return fail(0, 0, "the file holds no policy", "write version: 1 and operations")
	case err != nil:
		return nil, Errors{syntaxError(src, err)}
	}
	switch err := loader.Load(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, Errors{syntaxError(src, err)}
	default:
		return fail(more.Content[0].Line, more.Content[0].Column, "a second document begins here", "one file holds one policy: move it to a file of its own")
	}
	return doc.Content[0], nil
}

// unreadable finds the first byte that no YAML text may hold; the library names no place for these.
func unreadable(text []byte) (line, col int, message string) {
	line, col = 1, 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return line, col, "bytes that are not UTF-8"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return line, col, fmt.Sprintf("a control character (U+%04X)", r)
		case r == '\n':
			line, col = line+1, 0
		case r == '\ufeff' && i == 0:
			col = 0
		}
		i, col = i+size, col+1
	}
	return 0, 0, ""
}

// unquoted finds a value that begins with an exclamation mark: YAML reads it as a tag and often breaks on what follows.
var unquoted = regexp.MustCompile(`(?:^|[:,\[{]\s*|-\s+)(![^\s"'][^#]*)`)

const quoteIt = `an exclamation mark begins a YAML tag: put the expression in quotes, "!has(args.draft)"`

// syntaxError turns what the YAML library says into a finding.
func syntaxError(src Source, err error) Finding {
	f := Finding{File: src.Name, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return f
	}
	f.Line, f.Col, f.Message = load.Mark.Line, load.Mark.Column, load.Message
	if load.ContextMsg != "" {
		f.Message += " " + load.ContextMsg
	}
	lines := strings.Split(string(src.Text), "\n")
	if f.Line < 1 || f.Line > len(lines) {
		return f
	}
	line := lines[f.Line-1]
	switch at := unquoted.FindStringSubmatchIndex(line); {
	case at != nil:
		f.Col = 1 + utf8.RuneCountInString(line[:at[2]])
		f.Remedy = quoteIt
	case strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
		f.Remedy = "indent with spaces, not with tabs"
	case strings.Contains(f.Message, "mapping values are not allowed"):
		f.Remedy = "put a text that holds a colon in quotes, and check the indentation"
	}
	return f
}
