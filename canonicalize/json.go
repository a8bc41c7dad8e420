package canonicalize

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// What Parse reads at most. Real calls stay far below; the limits keep a few bytes of hostile input from costing megabytes.
const (
	MaxBytes    = 16 << 20 // of JSON text
	MaxDepth    = 128      // nested lists and objects
	MaxValues   = 1 << 20  // values in one text
	MaxDigits   = 1000     // characters of one number
	MaxExponent = 9999     // magnitude of a number's exponent
	fewMembers  = 32       // up to which members are compared one by one
)

// Parse reads one JSON value (RFC 8259), strictly: what two parsers could read in two ways is refused. That is text that is not UTF-8
// or begins with a byte order mark, lone surrogates, members that occur twice in one object (also those that differ only in case),
// NaN and Infinity, and anything after the value. The error is an *Error whose Place is a JSON Pointer (RFC 6901) where the trouble is
// inside a value, else "byte N", counted from 1.
func Parse(b []byte) (Value, error) { return parseString(string(b)) }

func parseString(s string) (Value, error) {
	if len(s) > MaxBytes {
		return Value{}, &Error{Reason: "is larger than 16 MiB", Remedy: "send less, or a reference to it"}
	}
	p := parsers.Get().(*parser)
	defer p.release()
	p.s, p.bad = s, firstInvalid(s)
	p.skip()
	if p.i == len(p.s) {
		return Value{}, p.syntax("is empty", "send a JSON object, {} where there are no arguments")
	}
	v, err := p.value(0)
	if err == nil {
		if p.skip(); p.i < len(s) {
			err = p.syntax("text follows the value", "send exactly one JSON value")
		}
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// parser is one reading of a text. Containers collect on stacks, which are used again, and are then cut from slabs, so that a common
// call costs a handful of allocations.
type parser struct {
	s      string
	i      int
	bad    int // where the first byte that is not UTF-8 stands; len(s) where there is none
	values int

	items      []Value // stacks
	members    []Member
	itemSlab   []Value
	memberSlab []Member
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

func (p *parser) release() {
	clear(p.items) // what an error left behind
	clear(p.members)
	*p = parser{items: p.items[:0], members: p.members[:0]}
	if cap(p.items)+cap(p.members) < 1<<12 { // a huge call must not hold its memory for ever
		parsers.Put(p)
	}
}

func firstInvalid(s string) int {
	if utf8.ValidString(s) {
		return len(s)
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(s)
}

func (p *parser) syntax(reason, remedy string) *Error {
	return &Error{Place: "byte " + strconv.Itoa(p.i+1), Reason: reason, Remedy: remedy}
}

func (p *parser) skip() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// value reads the value that begins at p.i.
func (p *parser) value(depth int) (v Value, err *Error) {
	if p.values++; p.values > MaxValues {
		return v, &Error{Reason: "holds more than a million values", Remedy: "send less, or a reference to it"}
	}
	if p.i == len(p.s) {
		return v, p.syntax("the text ends in the middle of a value", "send the whole text; nothing is guessed of a cut-off one")
	}
	start := p.i
	switch c := p.s[p.i]; {
	case c == '"':
		v.Kind = String
		v.Text, err = p.text()
	case c == '{':
		v.Kind = Object
		v.Members, err = p.object(depth + 1)
	case c == '[':
		v.Kind = List
		v.Items, err = p.list(depth + 1)
	case c == '-' || '0' <= c && c <= '9':
		v.Kind = Number
		v.Text, err = p.number()
	default:
		v.Kind, v.Text, err = p.word()
	}
	v.raw = p.s[start:p.i]
	return v, err
}

func (p *parser) word() (Kind, string, *Error) {
	rest := p.s[p.i:]
	for _, w := range [...]string{"true", "false"} {
		if strings.HasPrefix(rest, w) {
			p.i += len(w)
			return Bool, w, nil
		}
	}
	err := p.syntax("no JSON value begins here", "send JSON text as RFC 8259 defines it")
	switch {
	case strings.HasPrefix(rest, "null"):
		p.i += len("null")
		return Null, "", nil
	case strings.HasPrefix(rest, "NaN"), strings.HasPrefix(rest, "Infinity"):
		err = notANumber()
	case strings.HasPrefix(rest, "\ufeff"):
		err.Reason, err.Remedy = "the text begins with a byte order mark", "send it without"
	case rest[0] == '\'':
		err.Reason, err.Remedy = "single quotes are not JSON", `use "`
	case p.i == p.bad:
		err.Reason, err.Remedy = "is not UTF-8", "encode the text as UTF-8"
	}
	return Null, "", err
}

func (p *parser) object(depth int) ([]Member, *Error) {
	if depth > MaxDepth {
		return nil, tooDeep()
	}
	base := len(p.members)
	p.i++
	for more := p.opens('}'); more; {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		v, err := p.value(depth)
		if err != nil {
			return nil, within(err, name)
		}
		p.members = append(p.members, Member{name, v})
		if more, err = p.continues('}'); err != nil {
			return nil, err
		}
	}
	if p.memberSlab == nil {
		p.memberSlab = make([]Member, 0, min(strings.Count(p.s, ":"), maxSlab))
	}
	members := cut(&p.memberSlab, &p.members, base)
	return members, duplicate(members)
}

// name reads a member's name and steps over the colon behind it.
func (p *parser) name() (string, *Error) {
	p.skip()
	if p.i == len(p.s) || p.s[p.i] != '"' {
		return "", p.syntax("a member's name is missing here", `write members as "name": value, without a comma after the last`)
	}
	name, err := p.text()
	if err != nil {
		return "", err
	}
	if p.skip(); p.i == len(p.s) || p.s[p.i] != ':' {
		return "", p.syntax("a colon is missing here", `write members as "name": value`)
	}
	p.i++
	p.skip()
	return name, nil
}

func (p *parser) list(depth int) ([]Value, *Error) {
	if depth > MaxDepth {
		return nil, tooDeep()
	}
	base := len(p.items)
	p.i++
	for more := p.opens(']'); more; {
		p.skip()
		v, err := p.value(depth)
		if err != nil {
			return nil, within(err, strconv.Itoa(len(p.items)-base))
		}
		p.items = append(p.items, v)
		if more, err = p.continues(']'); err != nil {
			return nil, err
		}
	}
	if p.itemSlab == nil { // as many as commas and brackets allow
		n := strings.Count(p.s, ",") + strings.Count(p.s, "[") + strings.Count(p.s, "{") - strings.Count(p.s, ":")
		p.itemSlab = make([]Value, 0, max(0, min(n, maxSlab)))
	}
	return cut(&p.itemSlab, &p.items, base), nil
}

// opens reports whether anything stands between the bracket just read and the closing one, and steps over the latter if not.
func (p *parser) opens(closing byte) bool {
	if p.skip(); p.i < len(p.s) && p.s[p.i] == closing {
		p.i++
		return false
	}
	return true
}

// continues steps over what follows an item: a comma, with more to come, or the closing bracket.
func (p *parser) continues(closing byte) (bool, *Error) {
	p.skip()
	if p.i < len(p.s) {
		switch p.s[p.i] {
		case ',':
			p.i++
			if p.skip(); p.i < len(p.s) && p.s[p.i] == closing {
				return false, p.syntax("a comma stands before the closing bracket", "leave it out, or declare `repair: [trailing-commas]`")
			}
			return true, nil
		case closing:
			p.i++
			return false, nil
		}
		return false, p.syntax("a comma or "+string(closing)+" is missing here", "send JSON text as RFC 8259 defines it")
	}
	return false, p.syntax("the text ends before its closing "+string(closing), "send the whole text; nothing is guessed of a cut-off one")
}

// maxSlab bounds what is set aside for a text whose strings hold many colons or commas.
const maxSlab = 1024

// cut moves what stands on a stack above base to a slab.
func cut[T any](slab, stack *[]T, base int) []T {
	items := (*stack)[base:]
	if len(items) == 0 {
		return nil
	}
	if cap(*slab)-len(*slab) < len(items) {
		*slab = make([]T, 0, max(len(items), maxSlab/16))
	}
	start := len(*slab)
	*slab = append(*slab, items...)
	clear(items)
	*stack = (*stack)[:base]
	return (*slab)[start:len(*slab):len(*slab)]
}

// number reads a number literal. Its digits are kept; it is never turned into a float.
func (p *parser) number() (string, *Error) {
	start := p.i
	if p.s[p.i] == '-' {
		p.i++
	}
	first := p.i
	switch n := p.digits(); {
	case n == 0 && strings.HasPrefix(p.s[p.i:], "Infinity"):
		return "", notANumber()
	case n == 0:
		return "", p.syntax("a digit is missing here", "write numbers as 12, -3.5 or 1e6")
	case n > 1 && p.s[first] == '0':
		return "", p.syntax("a number begins with a zero", "send ids with leading zeros as strings, numbers without")
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if p.digits() == 0 {
			return "", p.syntax("a digit is missing here", "write numbers as 12, -3.5 or 1e6")
		}
	}
	if p.i < len(p.s) && p.s[p.i]|0x20 == 'e' {
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		from := p.i
		if p.digits() == 0 {
			return "", p.syntax("a digit is missing here", "write numbers as 12, -3.5 or 1e6")
		}
		if e, err := strconv.Atoi(p.s[from:p.i]); err != nil || e > MaxExponent {
			return "", &Error{Reason: "is a number with an exponent beyond 9999", Remedy: "send such a number as a string"}
		}
	}
	if p.i-start > MaxDigits {
		return "", &Error{Reason: "is a number of more than 1000 characters", Remedy: "send such a number as a string"}
	}
	return p.s[start:p.i], nil
}

func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.s) && '0' <= p.s[p.i] && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

// text reads a string. Without escapes it is a part of the input, not a copy.
func (p *parser) text() (string, *Error) {
	p.i++
	start := p.i
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			if p.bad < p.i {
				return "", notUTF8()
			}
			p.i++
			return p.s[start : p.i-1], nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.control()
		}
		p.i++
	}
	return "", p.syntax("the text ends inside a string", "send the whole text; nothing is guessed of a cut-off one")
}

// escaped reads the rest of a string that holds escapes, from its first backslash on.
func (p *parser) escaped(start int) (string, *Error) {
	buf := append(make([]byte, 0, p.i-start+64), p.s[start:p.i]...)
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '"':
			if p.bad < p.i {
				return "", notUTF8()
			}
			p.i++
			return string(buf), nil
		case c < 0x20:
			return "", p.control()
		case c != '\\':
			buf = append(buf, c)
			p.i++
			continue
		}
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		buf = utf8.AppendRune(buf, r)
	}
	return "", p.syntax("the text ends inside a string", "send the whole text; nothing is guessed of a cut-off one")
}

// escape reads one escape, or the two of a surrogate pair.
func (p *parser) escape() (rune, *Error) {
	if p.i+1 < len(p.s) {
		at := strings.IndexByte(`"\/bfnrt`, p.s[p.i+1])
		if at >= 0 {
			p.i += 2
			return rune("\"\\/\b\f\n\r\t"[at]), nil
		}
	}
	r, ok := p.unicode()
	if !ok {
		return 0, p.syntax(`this is no JSON escape`, `escape a backslash as \\`)
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if second, ok := p.unicode(); ok {
		if full := utf16.DecodeRune(r, second); full != unicode.ReplacementChar {
			return full, nil
		}
	}
	return 0, &Error{Reason: "holds half of a surrogate pair", Remedy: `escape such a character as both halves, or send it as UTF-8`}
}

// unicode reads \uXXXX.
func (p *parser) unicode() (rune, bool) {
	if len(p.s)-p.i < 6 || p.s[p.i] != '\\' || p.s[p.i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.s[p.i+2 : p.i+6]) {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.i += 6
	return r, true
}

func (p *parser) control() *Error {
	return p.syntax("a control character stands inside a string", `escape it, as \n or \u0007`)
}

func notUTF8() *Error { return &Error{Reason: "is not UTF-8", Remedy: "encode the text as UTF-8"} }

func notANumber() *Error {
	return &Error{Reason: "NaN and Infinity are not JSON", Remedy: "send a number, or null"}
}

func tooDeep() *Error {
	return &Error{Reason: "is nested deeper than 128 levels", Remedy: "send a flatter value"}
}

// duplicate finds members of one object that some parser takes for the same one: encoding/json, for one, matches names without case.
func duplicate(members []Member) *Error {
	if len(members) > fewMembers {
		return duplicateOfMany(members)
	}
	for i := range members {
		for j := range i {
			if a, b := members[i].Name, members[j].Name; mayFold(a, b) && strings.EqualFold(a, b) {
				return occursTwice(b, a)
			}
		}
	}
	return nil
}

// mayFold is a quick no: two ASCII letters that differ begin names that differ.
func mayFold(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	return a[0] >= utf8.RuneSelf || b[0] >= utf8.RuneSelf || a[0]|0x20 == b[0]|0x20
}

func duplicateOfMany(members []Member) *Error {
	seen := make(map[string]string, len(members))
	for _, m := range members {
		folded := foldName(m.Name)
		if first, ok := seen[folded]; ok {
			return occursTwice(first, m.Name)
		}
		seen[folded] = m.Name
	}
	return nil
}

// foldName maps names that strings.EqualFold takes for equal to one text.
func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

func occursTwice(first, second string) *Error {
	e := &Error{Reason: "the member occurs twice", Remedy: "send each member once"}
	if first != second {
		e.Reason = "the member occurs twice, also as " + strconv.Quote(first)
		e.Remedy = "send one of the two: names that differ only in case are one member to some readers"
	}
	return within(e, second)
}
