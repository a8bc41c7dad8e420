package meaning

import (
	"slices"
	"strconv"
	"strings"
)

// factKind orders the exact values of a text. Of the kinds from here to soft both texts must have the same ones.
type factKind uint8

const (
	factID      factKind = iota // document numbers, addresses, file names
	factNumber                  // 1000, 7.5, 1/2
	factOrdinal                 // first, 2nd, 第三
	factDate                    // month and day
	factTime                    // time of day
	soft                        // from here on: they differ only where both texts have some
	factYear
	factMonth
	factWeekday
	factRelative // tomorrow, 来週
	factCurrency
	factUnit
	factKinds
)

var factNames = [factKinds]string{"ids", "numbers", "ordinals", "dates", "times", "", "years", "months", "weekdays", "days", "currencies", "units"}

// fact is one exact value of a text in canonical form.
type fact struct {
	kind  factKind
	value string
}

func (t *reader) fact(k factKind, value string) { t.facts = append(t.facts, fact{k, value}) }

// readFacts finds the exact values and marks their tokens as used.
func (t *reader) readFacts(tokens []token) {
	for i := 0; i < len(tokens); {
		n := t.readDate(tokens[i:])
		if n == 0 {
			n = t.readTime(tokens[i:])
		}
		if n == 0 {
			n = t.readNumber(tokens[i:])
		}
		for j := i; j < i+n; j++ {
			tokens[j].used = true
		}
		i += max(n, 1)
	}
	slices.SortFunc(t.facts, compareFacts)
	t.facts = slices.Compact(t.facts)
}

func compareFacts(a, b fact) int {
	if a.kind != b.kind {
		return int(a.kind) - int(b.kind)
	}
	return strings.Compare(a.value, b.value)
}

// readNumber reads an amount, a number word, an ordinal or a reference, and returns how many tokens it took.
func (t *reader) readNumber(tokens []token) int {
	switch tok := tokens[0]; tok.kind {
	case id:
		t.fact(factID, canonID(tok.fold))
		return 1
	case sign:
		if code := currencies[tok.fold]; code != "" && len(tokens) > 1 && tokens[1].kind == number {
			t.fact(factCurrency, code)
			return 1 + t.readNumber(tokens[1:])
		}
		if tok.fold == "#" && len(tokens) > 1 && tokens[1].kind == word && tokens[1].glued {
			t.fact(factID, "#"+tokens[1].fold)
			return 2
		}
		if tok.fold == "@" && len(tokens) > 1 && tokens[1].kind == word && tokens[1].glued {
			return 1 // "@Alice" is the name Alice
		}
	case number:
		return t.readDigits(tokens)
	case word:
		if v := ordinals[tok.fold]; v != "" {
			t.fact(factOrdinal, v)
			return 1
		}
		if v := numberWords[tok.fold]; v != "" {
			t.fact(factNumber, v)
			return 1 + t.readUnit(tokens[1:])
		}
		if code := currencies[tok.fold]; code != "" && len(tokens) > 1 && tokens[1].kind == number && len(code) == len(tok.raw) {
			t.fact(factCurrency, code)
			return 1 + t.readNumber(tokens[1:])
		}
	case han:
		return t.readKanji(tokens)
	}
	return 0
}

// readDigits reads digits with what stands behind them: 1,000 EUR; 110万円; 5kg; 3rd; 1/2; 03-1234-5678.
func (t *reader) readDigits(tokens []token) int {
	raw := tokens[0].raw
	value, ok := canonNumber(raw)
	if !ok {
		if strings.ContainsAny(raw, "-") && !strings.ContainsAny(raw, "/:") && strings.Count(raw, "-") == 1 && len(raw) <= 9 {
			from, to, _ := strings.Cut(raw, "-")
			a, okA := canonNumber(from)
			b, okB := canonNumber(to)
			if okA && okB { // a range: 10-12
				t.fact(factNumber, a)
				t.fact(factNumber, b)
				return 1 + t.readUnit(tokens[1:])
			}
		}
		t.fact(factID, canonID(raw))
		return 1
	}
	n := 1
	if len(tokens) > n && tokens[n].glued && tokens[n].kind == word && suffixes[tokens[n].fold] && tokens[n].fold != "x" && tokens[n].fold != "k" && tokens[n].fold != "m" {
		t.fact(factOrdinal, value)
		return n + 1
	}
	if len(tokens) > n {
		if tok := tokens[n]; tok.kind == han {
			digits, rest := scaleOf(value, tok.raw)
			t.fact(factNumber, digits)
			return n + t.readCounter(rest, tok)
		} else if tok.kind == word && tok.glued && (tok.fold == "k" || tok.fold == "m") {
			zeros := 3
			if tok.fold == "m" {
				zeros = 6
			}
			t.fact(factNumber, shift(value, zeros))
			return n + 1
		}
	}
	t.fact(factNumber, value)
	return n + t.readUnit(tokens[n:])
}

// readUnit reads a unit or a currency behind a number.
func (t *reader) readUnit(tokens []token) int {
	if len(tokens) == 0 || tokens[0].kind != word && tokens[0].kind != sign && tokens[0].kind != kata {
		return 0
	}
	if code := currencies[tokens[0].fold]; code != "" {
		t.fact(factCurrency, code)
		return 1
	}
	if u := units[tokens[0].fold]; u != "" {
		t.fact(factUnit, u)
		return 1
	}
	return 0
}

// readCounter reads what follows a number in Japanese: a currency, or a counter, which is part of the word. rest is what is left of tok.
func (t *reader) readCounter(rest string, tok token) int {
	if strings.HasPrefix(rest, "円") {
		t.fact(factCurrency, "jpy")
		rest = rest[len("円"):]
	}
	if rest == "" {
		return 1
	}
	if len(rest) < len(tok.raw) {
		t.loose = append(t.loose, token{kind: han, raw: rest, fold: rest})
		return 1
	}
	return 0
}

// readKanji reads numbers written in kanji before a counter: 三台, 二十万円, 第二回.
func (t *reader) readKanji(tokens []token) int {
	raw := tokens[0].raw
	rest, ordinal := strings.CutPrefix(raw, "第")
	end := 0
	for i, r := range rest {
		if !strings.ContainsRune("〇一二三四五六七八九十百千万億", r) {
			break
		}
		end = i + len(string(r))
	}
	if ordinal && end == 0 && len(rest) == 0 && len(tokens) > 1 && tokens[1].kind == number {
		if value, ok := canonNumber(tokens[1].raw); ok {
			t.fact(factOrdinal, value)
			return 2
		}
	}
	if end == 0 {
		return 0
	}
	after := rest[end:]
	if !ordinal && (after == "" || !counter(after)) {
		return 0
	}
	value, ok := kanjiValue(rest[:end])
	if !ok {
		return 0
	}
	if ordinal {
		t.fact(factOrdinal, strconv.FormatInt(value, 10))
	} else {
		t.fact(factNumber, strconv.FormatInt(value, 10))
	}
	t.readCounter(after, tokens[0])
	return 1
}

// counter reports whether a Japanese word begins with what things are counted in. 一部, 一番 and 一般 are words, not counts.
func counter(s string) bool {
	for _, c := range []string{"円", "個", "台", "件", "名", "人", "回", "本", "枚", "月", "日", "年", "時", "分", "秒", "号", "番", "階", "冊", "倍", "歳", "泊", "便", "箱", "袋", "室", "社", "通", "点", "組", "席", "週", "ヶ"} {
		if strings.HasPrefix(s, c) {
			return true
		}
	}
	return false
}

var kanjiDigits = map[rune]int64{'〇': 0, '一': 1, '二': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

// kanjiValue is the value of a number in kanji, positional (二〇) or with tens and thousands (二十五万).
func kanjiValue(s string) (int64, bool) {
	var total, section, digit int64
	positional := true
	for _, r := range s {
		if _, ok := kanjiDigits[r]; !ok {
			positional = false
		}
	}
	for _, r := range s {
		if total > 1e15 || section > 1e15 || digit > 1e15 {
			return 0, false
		}
		if d, ok := kanjiDigits[r]; ok {
			if positional {
				digit = digit*10 + d
			} else {
				digit = d
			}
			continue
		}
		unit := map[rune]int64{'十': 10, '百': 100, '千': 1000, '万': 1e4, '億': 1e8}[r]
		if unit < 1e4 {
			section += max(digit, 1) * unit
		} else {
			total += max(section+digit, 1) * unit
			section = 0
		}
		digit = 0
	}
	return total + section + digit, true
}

// scaleOf applies 万 and 億 behind digits and returns what is left of the word.
func scaleOf(value, word string) (string, string) {
	for _, s := range []struct {
		mark  string
		zeros int
	}{{"千", 3}, {"万", 4}, {"億", 8}} {
		if rest, ok := strings.CutPrefix(word, s.mark); ok {
			return shift(value, s.zeros), rest
		}
	}
	return value, word
}

// shift multiplies a canonical decimal by a power of ten.
func shift(value string, zeros int) string {
	whole, frac, _ := strings.Cut(value, ".")
	frac += strings.Repeat("0", max(zeros-len(frac), 0))
	out, ok := canonNumber(whole + frac[:zeros] + "." + frac[zeros:] + "0")
	if !ok {
		return value
	}
	return out
}

// canonNumber is the canonical form of digits with grouping commas and a decimal point. Digits with leading zeros are references, not
// numbers.
func canonNumber(s string) (string, bool) {
	whole, frac, dotted := strings.Cut(s, ".")
	if strings.Contains(whole, ",") {
		parts := strings.Split(whole, ",")
		for i, p := range parts {
			if i > 0 && len(p) != 3 || len(p) == 0 || len(p) > 3 {
				return "", false
			}
		}
		whole = strings.Join(parts, "")
	}
	if !allDigits(whole) || dotted && !allDigits(frac) || len(whole) > 1 && whole[0] == '0' && !dotted {
		return "", false
	}
	whole = strings.TrimLeft(whole, "0")
	frac = strings.TrimRight(frac, "0")
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		return whole + "." + frac, true
	}
	return whole, true
}

// canonID is a reference without the marks in which spellings differ: dashes and case, a mailto, a trailing slash, the www of a host.
func canonID(s string) string {
	s = strings.ToLower(s)
	s = strings.NewReplacer("’", "", "'", "", "‐", "-", "–", "-", "−", "-").Replace(s)
	s = strings.TrimPrefix(s, "https://")
	s = strings.TrimPrefix(s, "http://")
	s = strings.TrimPrefix(s, "www.")
	return strings.TrimRight(s, "/")
}
