package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agentgw/canonicalize"
)

// fieldRole is what an argument is for identity.
type fieldRole uint8

const (
	roleKey     fieldRole = iota
	roleMeaning           // in the key, and compared with earlier wordings
	roleMatch             // a detail of the same thing: another value is a conflict
	roleProse             // words for people, no identity
)

// suggester drafts the fields of one operation.
type suggester struct {
	tool   ToolFacts
	kind   toolKind
	schema *canonicalize.Schema
	seen   []seenCall
}

// argument is one argument on its way into the draft.
type candidate struct {
	canonicalize.Property
	role fieldRole
	typ  string
	why  string
}

// fields sorts the arguments into key, must_match and what is left.
func (s *suggester) fields(op *DraftOperation) {
	args := make([]candidate, len(s.schema.Properties))
	for i, p := range s.schema.Properties {
		args[i] = candidate{Property: p, typ: s.typeOf(p)}
		args[i].role, args[i].why = s.roleOf(p)
		if args[i].role == roleKey && s.left(p) {
			args[i].role, args[i].why = roleMeaning, args[i].why+"; an update that restates it is asked about"
		}
	}
	s.learn(args)
	s.settle(args)
	args = s.withoutPaired(args)
	for _, a := range args {
		f := DraftField{FieldSpec: a.Field(), Why: a.why}
		f.Type = a.typ + "?"
		if len(f.Arg) == 1 && f.Arg[0] == f.Name {
			f.Arg = nil
		}
		switch a.role {
		case roleKey:
			op.Key = append(op.Key, f)
		case roleMeaning:
			f.Type = compared(a.typ) + "?"
			op.Key = append(op.Key, f)
		case roleMatch:
			op.Match = append(op.Match, f)
		case roleProse:
			if s.tool.NoTask { // left out, they would make one of two messages to somebody, in whatever conversation
				f.Type, f.Why = compared(a.typ)+"?", a.why+"; without a task only these words tell two calls apart"
				op.Key = append(op.Key, f)
				continue
			}
			op.Left = append(op.Left, f)
		}
	}
}

// compared is a type whose values are also compared as free text.
func compared(typ string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(typ, "auto"), "("), ")")
	if inner == "" || inner == "text" {
		return "auto(meaning)"
	}
	return "auto(meaning|" + inner + ")"
}

// left reports whether an argument is a value that an update may leave out or state again.
func (s *suggester) left(p canonicalize.Property) bool {
	return s.kind.updates() && !s.kind.set && !p.Required && len(p.Enum) == 0 && p.Default == nil && p.Kind != "array" && p.Kind != "object" && p.Kind != ""
}

// settle looks at all arguments together: prose is identity after all where nothing else is.
func (s *suggester) settle(args []candidate) {
	identifies := func(a candidate) bool {
		return a.role == roleKey && a.Kind != "boolean" && len(a.Enum) == 0 || a.role == roleMeaning
	}
	if slices.ContainsFunc(args, identifies) {
		return
	}
	for i := range args {
		if args[i].role == roleProse {
			args[i].role = roleMeaning
			args[i].why = "prose, and the only thing that tells two calls apart"
		}
	}
}

// withoutPaired drops lists that another one is read with.
func (s *suggester) withoutPaired(args []candidate) []candidate {
	gone := map[string]bool{}
	for i := range args {
		if other := s.pairedWith(args[i].Property); args[i].Kind == "array" && other != "" {
			gone[other] = true
			args[i].why = "a list whose items belong to those of " + other + ", in whatever order"
		}
	}
	return slices.DeleteFunc(args, func(a candidate) bool { return gone[a.Name] })
}

// roleOf decides what an argument is for, and says why. Enumerations, references, numbers and truth values are identity whatever they are
// called; only free text can be prose.
func (s *suggester) roleOf(p canonicalize.Property) (fieldRole, string) {
	switch {
	case len(p.Enum) > 0:
		return roleKey, "one of " + fmt.Sprint(len(p.Enum)) + " values"
	case p.Reference():
		return roleKey, "looks like a reference"
	case p.Kind == "boolean", p.Kind == "integer", p.Kind == "number":
		return roleKey, "schema: " + p.Kind
	case p.Kind == "array" && p.ItemReading() == "text" && !people(p) && s.listKind(p) == "set":
		return roleMeaning, "a list of free texts that name something: worded alike is asked about"
	case p.Kind == "array" || p.Kind == "object" || p.Kind == "":
		return roleKey, s.whyList(p)
	}
	if strings.HasPrefix(p.Reading(), "auto(date") {
		if s.kind.money && !s.kind.updates() && hasAmount(s.schema) && (!s.kind.later || s.series()) {
			return roleMatch, "the day of a payment is seldom given and often invented: another one is a conflict, not a second payment"
		}
		return roleKey, "a date"
	}
	if p.Reading() != "auto(text)" {
		return roleKey, "schema: " + strings.TrimSuffix(strings.TrimPrefix(p.Reading(), "auto("), ")")
	}
	if why := prose(p); why != "" && (!p.WordsEnd("subject") || s.subjectLine()) {
		return roleProse, why
	}
	return roleMeaning, "free text that names something: worded alike is asked about"
}

// subjectLine reports whether a subject is the heading of a letter or a transfer, not what is taught or treated.
func (s *suggester) subjectLine() bool {
	return s.kind.message || s.kind.money || slices.ContainsFunc(s.schema.Properties, func(p canonicalize.Property) bool {
		return p.WordsEnd("body", "message", "content", "text", "本文")
	})
}

// series reports whether the tool has a switch for doing something again and again: then a series is not made of single calls.
func (s *suggester) series() bool {
	return slices.ContainsFunc(s.schema.Properties, func(p canonicalize.Property) bool {
		return slices.ContainsFunc(p.Words(), func(w string) bool { return w == "recurring" || w == "recurrence" || w == "repeat" || w == "frequency" })
	})
}

// proseNames are the last words of names of arguments that hold sentences for people.
var proseNames = wordSet(`body message content contents text description desc note notes comment comments summary reason details detail memo remark remarks explanation subject
	caption feedback instructions instruction purpose justification motivation narrative abstract greeting signature footer
	本文 備考 説明 件名 摘要 メモ コメント 理由 内容`)

// prose says why an argument is words for people, or "".
func prose(p canonicalize.Property) string {
	w := p.Words()
	if len(w) == 0 || p.Kind != "string" {
		return ""
	}
	if last := w[len(w)-1]; proseNames[last] {
		return "prose by its name (" + last + "): reworded on every run"
	}
	return ""
}

var (
	inOrder    = regexp.MustCompile(`(?i)\border(?:ed)? (?:of|in|by)\b|\bin order\b|same (?:position|order|index)|correspond|\bposition\b|\bsequence\b|\bsteps?\b|coordinat|\brespectively\b|\brank|\bpriorit|順`)
	duplicates = regexp.MustCompile(`(?i)\bduplicate|\brepeat|重複`)
)

// typeOf is the reading of an argument: prose inside of objects does not count, and lists whose order says nothing become sets, or bags
// where repeats count.
func (s *suggester) typeOf(p canonicalize.Property) string {
	typ := p.ReadingWithout(func(m canonicalize.Property) bool { return len(m.Enum) == 0 && prose(m) != "" })
	if p.Kind != "array" {
		return typ
	}
	if other := s.pairedWith(p); other != "" {
		return strings.Replace(typ, "auto(list", "auto(pairs|"+other, 1)
	}
	return strings.Replace(typ, "auto(list", "auto("+s.listKind(p), 1)
}

var paired = regexp.MustCompile(`(?i)same (?:position|order|index)|correspond|\brespectively\b`)

// pairedWith is the other list whose items belong to p's, place by place: two lists of one kind, one of which says so or is named as the new one of the other.
func (s *suggester) pairedWith(p canonicalize.Property) string {
	var lists []canonicalize.Property
	for _, q := range s.schema.Properties {
		if q.Kind == "array" && !people(q) {
			lists = append(lists, q)
		}
	}
	if len(lists) != 2 || lists[0].Name != p.Name || lists[0].ItemReading() != lists[1].ItemReading() || strings.ContainsAny(lists[1].Name, "|()./?") {
		return ""
	}
	if lists[1].Name == "new_"+p.Name || paired.MatchString(lists[0].Description+" "+lists[1].Description) {
		return lists[1].Name
	}
	return ""
}

func (s *suggester) listKind(p canonicalize.Property) string {
	parallel := 0
	for _, q := range s.schema.Properties {
		if q.Kind == "array" && !people(q) && q.ItemReading() == p.ItemReading() {
			parallel++
		}
	}
	item := ""
	if p.Items != nil {
		item = p.Items.Kind
	}
	switch {
	case people(p):
		return "set"
	case inOrder.MatchString(p.Description), parallel > 1 && item != "object", item == "number", item == "integer", item == "array":
		return "list"
	case duplicates.MatchString(p.Description), item == "object", item == "":
		return "bag"
	}
	return "set"
}

// people reports whether a list names people: their order never matters.
func people(p canonicalize.Property) bool {
	return slices.ContainsFunc(p.Words(), func(w string) bool {
		switch w {
		case "recipients", "participants", "attendees", "emails", "cc", "bcc", "to", "members", "users", "invitees", "guests", "mentions", "tags", "labels":
			return true
		}
		return false
	})
}

func (s *suggester) whyList(p canonicalize.Property) string {
	if p.Kind != "array" {
		return "schema: a structure"
	}
	switch s.listKind(p) {
	case "set":
		return "a list whose order and repeats say nothing"
	case "bag":
		return "a list whose order says nothing"
	}
	return "a list whose order may matter"
}
