package canonicalize

import (
	"math/big"
	"strings"
)

// numberWords are the English words that numbers are built of. Those from hundred up multiply.
var numberWords = map[string]int64{
	"zero": 0, "nought": 0, "naught": 0, "nil": 0,
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
	"nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
	"ninety": 90, "hundred": 100,
	"thousand": 1e3, "thousands": 1e3, "million": 1e6, "millions": 1e6, "mln": 1e6, "mio": 1e6, "billion": 1e9, "billions": 1e9, "bln": 1e9, "bn": 1e9,
	"trillion": 1e12, "trillions": 1e12, "tln": 1e12, "lakh": 1e5, "lakhs": 1e5, "lac": 1e5, "lkh": 1e5, "lkhs": 1e5, "crore": 1e7, "crores": 1e7, "cr": 1e7,
}

// fractionWords are the denominators that have names of their own or are small enough to be meant as such.
var fractionWords = map[string]int64{
	"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "third": 3, "thirds": 3, "fourth": 4, "fourths": 4, "fifth": 5, "fifths": 5,
	"sixth": 6, "sixths": 6, "seventh": 7, "sevenths": 7, "eighth": 8, "eighths": 8, "ninth": 9, "ninths": 9, "tenth": 10, "tenths": 10,
}

var dozenWords = map[string]bool{"dozen": true, "dozens": true, "doz": true, "dozs": true, "dz": true, "dzs": true}

// cutWords reads a number in English words: "two hundred and six", "a dozen", "half a million", "three quarters".
func cutWords(s string) (*big.Rat, string, bool) {
	if r, rest, ok := cutFraction(s); ok {
		return cutScales(r, rest)
	}
	w := words{total: new(big.Int), section: new(big.Int), limit: 1e15}
	rest := s
	word, after := firstWord(rest)
	article := word == "a" || word == "an"
	if article {
		if next, _ := firstWord(strings.TrimLeft(after, " ")); numberWords[next] >= 100 || dozenWords[next] {
			rest, w.last = after, 1
			w.section.SetInt64(1)
		} else {
			return big.NewRat(1, 1), after, true
		}
	} else if _, ok := numberWords[word]; !ok {
		return nil, s, false
	}
	rest = w.take(rest)
	r := new(big.Rat).SetInt(w.total.Add(w.total, w.section))
	if r, rest, ok := cutSpokenDecimals(r, rest); ok {
		return r, rest, true
	}
	if part, after, ok := cutAndFraction(rest); ok {
		if w.last >= 1000 { // a million and a half is 1,500,000 to some
			return nil, s, false
		}
		return cutScales(r.Add(r, part), after)
	}
	return cutDozen(r, rest)
}

// cutScales reads words that multiply a number already read, and what adds to it: "million" of 2.4 million, "thousand 3 hundred".
func cutScales(r *big.Rat, s string) (*big.Rat, string, bool) {
	rest := strings.TrimLeft(s, " ")
	if word, after := firstWord(rest); numberWords[word] >= 100 && r.IsInt() && r.Num().IsInt64() {
		w := words{total: new(big.Int), section: new(big.Int).Set(r.Num()), limit: 1e15, last: 1}
		rest = w.take(rest)
		return cutDozen(new(big.Rat).SetInt(w.total.Add(w.total, w.section)), rest)
	} else if scale := numberWords[word]; scale >= 100 {
		return r.Mul(r, new(big.Rat).SetInt64(scale)), after, true
	}
	if part, after, ok := cutAndFraction(s); ok && r.IsInt() {
		return r.Add(r, part), after, true
	}
	return cutDozen(r, s)
}

func cutDozen(r *big.Rat, s string) (*big.Rat, string, bool) {
	if word, after := firstWord(strings.TrimLeft(s, " ")); dozenWords[word] {
		return r.Mul(r, big.NewRat(12, 1)), after, true
	}
	return r, s, true
}

// words adds number words up: section is what stands before the next thousand or million, last is the word before, limit what a
// multiplier must stay below.
type words struct {
	total, section *big.Int
	last, limit    int64
}

// take reads words as long as each may follow the one before, and returns the rest.
func (w *words) take(s string) string {
	rest := s
	for first := w.last == 0; ; first = false {
		at := rest
		if !first {
			at = skipJoint(rest)
		}
		value, after, ok := wordOrDigits(at)
		if !ok || !w.add(value, first) {
			return rest
		}
		w.last, rest = value, after
		if value == 0 {
			return rest
		}
	}
}

func (w *words) add(value int64, first bool) bool {
	v := big.NewInt(value)
	switch {
	case value >= 1000:
		if w.section.Sign() == 0 && w.last >= 1000 && w.last < value { // lakh crore, thousand million
			w.total.Mul(w.total, v)
			w.limit = w.last
			return true
		}
		if w.section.Sign() == 0 || value >= w.limit {
			return false
		}
		w.total.Add(w.total, w.section.Mul(w.section, v))
		w.section, w.limit = new(big.Int), value
		return true
	case value == 100:
		if first {
			w.section.SetInt64(100)
			return true
		}
		if w.last >= 100 || w.last == 0 {
			return false
		}
		w.section.Mul(w.section, v)
		return true
	}
	follows := first || w.last >= 100 || w.last >= 20 && w.last%10 == 0 && value < 10
	if !follows || value == 0 && !first {
		return false
	}
	w.section.Add(w.section, v)
	return true
}

// wordOrDigits reads one number word, or up to three digits as in "4 thousand 321".
func wordOrDigits(s string) (int64, string, bool) {
	if n := countDigits(s); n > 0 {
		if n > 3 || n < len(s) && (isMark(s[n]) && s[n] != ' ' || s[n] == '/' || isLetter(s[n])) {
			return 0, s, false
		}
		r, rest, ok := cutInteger(s)
		if !ok || r.Num().Int64() >= 100 || r.Sign() == 0 {
			return 0, s, false
		}
		return r.Num().Int64(), rest, true
	}
	word, rest := firstWord(s)
	value, ok := numberWords[word]
	return value, rest, ok
}

// skipJoint steps over what joins two number words: a space, a hyphen, "and".
func skipJoint(s string) string {
	rest := strings.TrimLeft(s, " -")
	if after, ok := cutWord(rest, "and"); ok {
		return after
	}
	return rest
}

// firstWord is the ASCII word that s begins with, in lower case, and what follows it.
func firstWord(s string) (string, string) {
	n := 0
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	return strings.ToLower(s[:n]), s[n:]
}

// cutFraction reads "half", "a quarter", "three quarters of", "tenth of a".
func cutFraction(s string) (*big.Rat, string, bool) {
	top := int64(1)
	word, rest := firstWord(s)
	if word == "a" || word == "an" {
		word, rest = firstWord(strings.TrimLeft(rest, " -"))
	} else if n, ok := numberWords[word]; ok && n > 0 && n < 10 {
		top = n
		word, rest = firstWord(strings.TrimLeft(rest, " -"))
	}
	bottom, ok := fractionWords[word]
	if !ok {
		return nil, s, false
	}
	rest = strings.TrimLeft(rest, " -")
	if after, ok := cutWord(rest, "of"); ok {
		rest = after
	}
	for _, article := range [...]string{"a", "an"} {
		if after, ok := cutWord(rest, article); ok {
			rest = after
			break
		}
	}
	return big.NewRat(top, bottom), rest, true
}

// cutAndFraction reads "and a half" after a whole number.
func cutAndFraction(s string) (*big.Rat, string, bool) {
	rest, ok := cutWord(strings.TrimLeft(s, " "), "and")
	if !ok {
		return nil, s, false
	}
	part, rest, ok := cutFraction(rest)
	if !ok || part.Cmp(big.NewRat(1, 1)) >= 0 {
		return nil, s, false
	}
	return part, rest, true
}

// cutSpokenDecimals reads "point nought four".
func cutSpokenDecimals(r *big.Rat, s string) (*big.Rat, string, bool) {
	rest, ok := cutWord(strings.TrimLeft(s, " "), "point")
	if !ok {
		return nil, s, false
	}
	step, count := big.NewRat(1, 1), 0
	for {
		word, after := firstWord(strings.TrimLeft(rest, " "))
		value, known := numberWords[word]
		if !known || value > 9 {
			return r, rest, count > 0
		}
		step.Quo(step, big.NewRat(10, 1))
		r.Add(r, new(big.Rat).Mul(step, new(big.Rat).SetInt64(value)))
		rest = after
		count++
	}
}
