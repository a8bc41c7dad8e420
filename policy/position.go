package policy

import (
	"unicode"

	"go.yaml.in/yaml/v4"
)

// locate finds the place, in the file, of a character of a scalar's decoded text: its line (from 1) and column (from 0), as CEL counts.
// Both texts hold the same characters but for white space, quotes and escapes, so it counts the others. Without the file's text it is
// the place of the scalar.
func (r *reader) locate(n *yaml.Node, line, col int) (int, int) {
	at := newScan(r.src.Text, n)
	if at == nil || line < 1 {
		return n.Line, n.Column
	}
	before, onSpace := inkBefore([]rune(n.Value), line, col)
	for ; before > 0 && at.next(); before-- {
	}
	if !onSpace {
		at.skipSpace()
	}
	return at.line, at.col
}

// inkBefore counts the characters before a place that are not white space, and says whether the place itself is white space or the end.
func inkBefore(text []rune, line, col int) (count int, onSpace bool) {
	i := 0
	for ; i < len(text) && line > 1; i++ {
		if text[i] == '\n' {
			line--
		} else if !unicode.IsSpace(text[i]) {
			count++
		}
	}
	for ; i < len(text) && col > 0; i, col = i+1, col-1 {
		if !unicode.IsSpace(text[i]) {
			count++
		}
	}
	return count, i >= len(text) || unicode.IsSpace(text[i])
}

// scan walks over a scalar as it is written.
type scan struct {
	rest      []rune
	style     yaml.Style
	line, col int
}

// newScan stands at the first character of n's text; nil where there is no source.
func newScan(source []byte, n *yaml.Node) *scan {
	s := &scan{rest: []rune(string(source)), style: n.Style, line: 1, col: 1}
	if len(s.rest) > 0 && s.rest[0] == '\ufeff' {
		s.rest = s.rest[1:]
	}
	for len(s.rest) > 0 && (s.line < n.Line || s.col < n.Column) {
		s.step(1)
	}
	if len(s.rest) == 0 {
		return nil
	}
	if s.rest[0] == '&' { // an anchor stands before the value
		for len(s.rest) > 0 && !unicode.IsSpace(s.rest[0]) {
			s.step(1)
		}
		s.skipSpace()
	}
	switch {
	case s.style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		s.step(1)
	case s.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0: // the text begins below its header
		for len(s.rest) > 0 && s.rest[0] != '\n' {
			s.step(1)
		}
	}
	return s
}

func (s *scan) step(n int) {
	for ; n > 0 && len(s.rest) > 0; n-- {
		if s.rest[0] == '\n' {
			s.line, s.col = s.line+1, 0
		}
		s.rest, s.col = s.rest[1:], s.col+1
	}
}

func (s *scan) skipSpace() {
	for len(s.rest) > 0 && s.space() > 0 {
		s.step(s.space())
	}
}

// next steps behind the next character that is not white space.
func (s *scan) next() bool {
	s.skipSpace()
	s.step(s.ink())
	return len(s.rest) > 0
}

// space is the number of characters that are written for white space here; 0 where there is none.
func (s *scan) space() int {
	if unicode.IsSpace(s.rest[0]) {
		return 1
	}
	if s.escaped() {
		switch s.rest[1] {
		case 'n', 't', 'r', ' ', '\n', '\t', 'v', 'f', 'N', '_', 'L', 'P':
			return 2
		}
	}
	return 0
}

// ink is the number of characters that are written for the next one of the text.
func (s *scan) ink() int {
	switch {
	case s.escaped():
		switch s.rest[1] {
		case 'x':
			return 4
		case 'u':
			return 6
		case 'U':
			return 10
		}
		return 2
	case s.style&yaml.SingleQuotedStyle != 0 && len(s.rest) > 1 && s.rest[0] == '\'' && s.rest[1] == '\'':
		return 2
	}
	return 1
}

func (s *scan) escaped() bool {
	return s.style&yaml.DoubleQuotedStyle != 0 && len(s.rest) > 1 && s.rest[0] == '\\'
}
