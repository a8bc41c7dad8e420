package canonicalize

import (
	"bytes"
	"slices"
)

// Repairs and decodings that a policy may declare. None guesses at what a cut-off text was going to say.
const (
	trailingCommas = "trailing-commas"  // {"a": 1,}
	modelEndTokens = "model-end-tokens" // {"a": 1}<|call|>
	htmlEntities   = "html"             // "Salt &amp; Sons"
)

// Repairs and Decodings list the words of `repair` and `decode`.
var (
	Repairs   = []string{trailingCommas, modelEndTokens}
	Decodings = []string{htmlEntities}
)

// endTokens are what models write when they have finished, and servers are to take away.
var endTokens = []string{
	"<|call|>", "<|end|>", "<|return|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|eot|>",
	"<end_of_turn>", "</s>", "<｜end▁of▁sentence｜>",
}

// ParseArguments reads the arguments of a call: an object, or a JSON string that holds one, unwrapped twice at most. repair and decode
// are the kinds that the call's policy declares. It returns the object and the JSON text that is to be forwarded: the text as it came,
// but for the unwrapping and what was repaired or decoded. The error is an *Error.
func ParseArguments(b []byte, repair, decode []string) (Value, []byte, error) {
	for unwrapped := 0; ; unwrapped++ {
		v, err := Parse(b)
		if err != nil {
			fixed, ok := Repair(b, repair)
			if !ok {
				return Value{}, nil, err
			}
			b = fixed
			if v, err = Parse(b); err != nil {
				return Value{}, nil, err
			}
		}
		switch {
		case v.Kind == String && unwrapped < 2:
			b = []byte(v.Text)
			continue
		case v.Kind == String:
			return Value{}, nil, &Error{Reason: "the arguments are an object wrapped in strings more than twice", Remedy: "send the object itself"}
		case v.Kind != Object:
			return Value{}, nil, notObject(v.Kind)
		}
		if decoded := Decode(v, decode); decoded.raw == "" {
			b = decoded.AppendJSON(nil)
			v, err = Parse(b)
		}
		return v, b, err
	}
}

// Repair mends what the kinds name and returns the text and whether it changed. Where the outcome would still not be JSON, as with a
// text that was cut off, it returns b as it is.
func Repair(b []byte, kinds []string) ([]byte, bool) {
	fixed := b
	if slices.Contains(kinds, modelEndTokens) {
		fixed = withoutEndTokens(fixed)
	}
	if slices.Contains(kinds, trailingCommas) {
		fixed = withoutTrailingCommas(fixed)
	}
	if len(fixed) == len(b) {
		return b, false
	}
	if _, err := Parse(fixed); err != nil {
		return b, false
	}
	return fixed, true
}

func withoutEndTokens(b []byte) []byte {
	for {
		b = bytes.TrimRight(b, " \t\r\n")
		i := slices.IndexFunc(endTokens, func(token string) bool { return bytes.HasSuffix(b, []byte(token)) })
		if i < 0 {
			return b
		}
		b = b[:len(b)-len(endTokens[i])]
	}
}

// withoutTrailingCommas leaves out one comma between a value and a closing bracket.
func withoutTrailingCommas(b []byte) []byte {
	out := make([]byte, 0, len(b))
	comma := -1         // where in out a comma stands that only white space follows so far
	afterValue := false // whether a value ended before the comma
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			end := stringEnd(b, i)
			out = append(out, b[i:end]...)
			i = end - 1
			comma, afterValue = -1, true
			continue
		case ',':
			comma = -1
			if afterValue {
				comma = len(out)
			}
			afterValue = false
		case ']', '}':
			if comma >= 0 {
				out = slices.Delete(out, comma, comma+1)
			}
			comma, afterValue = -1, true
		default:
			comma, afterValue = -1, c != '[' && c != '{' && c != ':'
		}
		out = append(out, b[i])
	}
	return out
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// Decode undoes, in every string of v, what the kinds name: one level of HTML entities. Names of members stay. A value in which nothing
// changes is returned as it is.
func Decode(v Value, kinds []string) Value {
	if slices.Contains(kinds, htmlEntities) {
		if decoded, changed := decodeHTML(v); changed {
			return decoded
		}
	}
	return v
}

func decodeHTML(v Value) (Value, bool) {
	changed := false
	switch v.Kind {
	case String:
		text := unescapeHTML(v.Text)
		changed = text != v.Text
		v.Text = text
	case List:
		items := slices.Clone(v.Items)
		for i := range items {
			decoded, different := decodeHTML(items[i])
			items[i], changed = decoded, changed || different
		}
		v.Items = items
	case Object:
		members := slices.Clone(v.Members)
		for i := range members {
			decoded, different := decodeHTML(members[i].Value)
			members[i].Value, changed = decoded, changed || different
		}
		v.Members = members
	}
	if changed {
		v.raw = ""
	}
	return v, changed
}
