package canonicalize

import (
	"slices"
	"strconv"
	"strings"
)

// enumType reads one word of a closed set; case, width and outer spaces do not count.
type enumType struct {
	words   []string          // folded; nil: any word
	aliases map[string]string // folded word to folded word, chains resolved
}

func newEnum(params []string, _ Defaults) (Type, error) {
	var t enumType
	for _, p := range params {
		word := foldWord(p)
		if slices.Contains(t.words, word) {
			return nil, &Error{Reason: "names " + strconv.Quote(p) + " twice", Remedy: "case and width do not tell words apart"}
		}
		t.words = append(t.words, word)
	}
	return t, nil
}

func (t enumType) withAliases(aliases map[string]string) (Type, error) {
	t.aliases = make(map[string]string, len(aliases))
	for alias, word := range aliases {
		from := foldWord(alias)
		if _, twice := t.aliases[from]; twice {
			return nil, &Error{Reason: "the alias " + strconv.Quote(alias) + " is there twice", Remedy: "case and width do not tell words apart"}
		}
		t.aliases[from] = foldWord(word)
	}
	for from, to := range t.aliases {
		for range len(t.aliases) {
			next, chained := t.aliases[to]
			if !chained || next == to {
				break
			}
			to = next
		}
		if _, loops := t.aliases[to]; loops && t.aliases[to] != to {
			return nil, &Error{Reason: "the alias " + strconv.Quote(from) + " leads back to itself", Remedy: "let aliases end at a value"}
		}
		if t.words != nil && !slices.Contains(t.words, to) {
			return nil, t.unknown("the alias "+strconv.Quote(from)+" stands for "+strconv.Quote(to)+", which the enum does not have", to)
		}
		t.aliases[from] = to
	}
	return t, nil
}

func (t enumType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := textOf(&v)
	if err != nil {
		return nil, err
	}
	if err := noControls(s); err != nil {
		return nil, err
	}
	word := foldWord(s)
	if to, ok := t.aliases[word]; ok {
		word = to
	}
	switch {
	case word == "":
		return nil, &Error{Reason: "is blank", Remedy: "send one of its values"}
	case t.words != nil && !slices.Contains(t.words, word):
		return nil, t.unknown("is "+strconv.Quote(s)+", which is none of its values", word)
	}
	return appendQuoted(dst, word), nil
}

func (t enumType) unknown(reason, word string) *Error {
	if near := Nearest(word, t.words); near != "" {
		return &Error{Reason: reason, Remedy: "did you mean " + near + "?"}
	}
	return &Error{Reason: reason, Remedy: "the values are " + strings.Join(t.words, ", ")}
}

// foldWord makes words that differ in case, width or spaces one.
func foldWord(s string) string {
	for range maxRounds {
		next := oneSpace(foldWidth(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}
