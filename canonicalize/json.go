package canonicalize

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// What Parse reads at most. Real calls stay far below; the limits keep a few bytes of hostile input from costing megabytes.
const (
	MaxBytes    = 16 << 20 // of JSON text
	MaxDepth    = 128      // nested lists and objects
	maxValues   = 1 << 20  // values in one text
	maxDigits   = 1000     // characters of one number
	maxExponent = 9999     // magnitude of a number's exponent
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
	if p.values++; p.values > maxValues {
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
