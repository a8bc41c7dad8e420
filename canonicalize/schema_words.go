package canonicalize

import (
	"regexp"
	"slices"
	"strings"
)

// The words of a description, where the schema itself is silent. Only what they state outright is taken: a default, a list of values, a format.

var (
	toldDefault = regexp.MustCompile(`(?i)\bdefaults?(?:\s+value)?(?:\s+is|\s+to|\s*[:=])?\s+(?:set\s+to\s+)?("[^"]{1,60}"|'[^']{1,60}'|-?\d+(?:\.\d+)?\b|true\b|false\b)`)
	toldValues  = regexp.MustCompile(`(?i)(?:\b(?:one of|values? (?:are|is)|available [a-z]+ (?:are|is)|options? (?:are|is)|allowed|choices|can be|must be|either|enum)\]?)[^"'.]{0,12}?(["'].*)`)
	quoted      = regexp.MustCompile(`"([^"]{1,60})"|'([^']{1,60})'`)
	dateFormat  = regexp.MustCompile(`(?i)\b(yyyy|mm|dd)[-/. ]?(yyyy|mm|dd)[-/. ]?(yyyy|mm|dd)\b`)
	clockFormat = regexp.MustCompile(`(?i)\bhh:mm|\bh:mm|24-hour|12-hour`)
)

// readDescription fills what the schema leaves open from its description.
func (p *Property) readDescription() {
	if p.Default == nil {
		if m := toldDefault.FindStringSubmatch(p.Description); m != nil {
			p.Default = toldValue(m[1], p.Kind)
		}
	}
	if p.Enum == nil && p.Kind == "string" {
		p.Enum = toldEnum(p.Description)
	}
}

// toldValue is a default as a value of the property's kind; nil where it does not fit.
func toldValue(s, kind string) *Value {
	bare := strings.Trim(s, `"'`)
	switch kind {
	case "string":
		return &Value{Kind: String, Text: bare}
	case "integer", "number":
		if isDecimal(bare) {
			return &Value{Kind: Number, Text: strings.TrimPrefix(bare, "+")}
		}
	case "boolean":
		if b := strings.ToLower(bare); b == "true" || b == "false" {
			return &Value{Kind: Bool, Text: b}
		}
	case "array":
		if bare != s {
			return &Value{Kind: List, Items: []Value{{Kind: String, Text: bare}}}
		}
	}
	return nil
}

// toldEnum finds at least two quoted values behind words such as "one of"; single examples ("such as 'SFO'") are none.
func toldEnum(description string) []string {
	m := toldValues.FindStringSubmatch(description)
	if m == nil || strings.Contains(strings.ToLower(description), "format") {
		return nil
	}
	tail := m[1]
	for _, end := range [...]string{"default", "for example", "such as", "e.g", "format"} {
		if at := strings.Index(strings.ToLower(tail), end); at >= 0 {
			tail = tail[:at]
		}
	}
	var out []string
	for _, q := range quoted.FindAllStringSubmatch(tail, 60) {
		out = append(out, q[1]+q[2])
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// nameWords cuts a property's name into lower-case words: customerId, customer_id, Customer-ID.
func nameWords(name string) []string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 {
			if prev := name[i-1]; prev >= 'a' && prev <= 'z' || prev >= '0' && prev <= '9' {
				b.WriteByte(' ')
			}
		}
		if r == '_' || r == '-' || r == '.' || r == '/' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.Fields(strings.ToLower(b.String()))
}

// Words are the words of the property's name in lower case.
func (p Property) Words() []string { return nameWords(p.Name) }

// WordsEnd reports whether the name ends in one of some words.
func (p Property) WordsEnd(words ...string) bool {
	w := p.Words()
	return len(w) > 0 && slices.Contains(words, w[len(w)-1])
}

// dateOrder reports whether the property is a date, and the order of day and month where its description states one that is not the ISO order.
func (p Property) dateOrder() (order string, ok bool) {
	if p.clocked() {
		return "", false
	}
	named := false
	for _, w := range p.Words() {
		switch w {
		case "date", "day", "birthday", "dob", "deadline", "日付", "期日", "納期":
			named = true
		}
	}
	m := dateFormat.FindStringSubmatch(p.Description)
	if m == nil {
		return "", named && p.Kind == "string"
	}
	switch strings.ToLower(m[1] + m[2] + m[3]) {
	case "mmddyyyy":
		return "mdy", true
	case "ddmmyyyy":
		return "dmy", true
	}
	return "", true
}

// timeLike reports whether the property is a time of day, or a day with one.
func (p Property) timeLike() bool {
	if p.clocked() {
		return true
	}
	for _, w := range p.Words() {
		if w == "time" || w == "datetime" || w == "timestamp" || w == "時刻" || w == "日時" {
			return true
		}
	}
	return false
}

func (p Property) clocked() bool { return clockFormat.MatchString(p.Description) }

// Reference reports whether the property names something by a code: its case and marks count, and it is never prose.
func (p Property) Reference() bool {
	if p.Kind != "string" && p.Kind != "" {
		return false
	}
	w := p.Words()
	if len(w) == 0 {
		return false
	}
	switch w[len(w)-1] {
	case "id", "ids", "uuid", "guid", "code", "key", "token", "sku", "iban", "ref", "reference", "number", "no", "num", "hash", "url", "uri", "link", "path", "file", "filename", "dir", "directory",
		"username", "login", "email", "mail", "phone", "tel", "isbn", "serial", "vin", "ssn", "password", "secret", "symbol", "ticker", "host", "hostname", "ip", "port", "branch", "tag", "version", "command", "番号", "コード":
		return true
	}
	return false
}
