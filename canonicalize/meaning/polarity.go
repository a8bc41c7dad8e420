package meaning

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pole is one end of a pair of opposites that a text mentions.
type pole struct {
	axis uint16
	side uint8 // 0 or 1
	word string
}

// role is what a text says that something moves from, or to.
type role struct {
	to   bool
	head string
}

// readNames finds proper names: capitalised words that are no common ones, and what stands before さん or 様.
func (t *reader) readNames(tokens []token) {
	between := 0 // tokens other than "and" and commas since the last name
	for i, tok := range tokens {
		name := ""
		switch {
		case tok.used:
		case tok.kind == word:
			r, n := utf8.DecodeRuneInString(tok.raw)
			label := n == len(tok.raw) && !tok.first && r != 'I' // room A
			if unicode.IsUpper(r) && (label || !common(tok.fold)) && !(tok.first && verbLike(tok.fold)) {
				name = strings.TrimSuffix(strings.TrimSuffix(tok.fold, "'s"), "’s")
			}
		case tok.kind == han:
			name = japaneseName(tokens, i)
		case tok.kind == kata:
			if i+1 < len(tokens) && (strings.HasPrefix(tokens[i+1].raw, "さん") || strings.HasPrefix(tokens[i+1].raw, "様")) {
				name = tok.raw
			}
		}
		switch {
		case name != "" && name != "i":
			if len(t.names) > 0 && between == 0 && tokens[i-1].kind != word {
				t.listed = true
			}
			if !slices.Contains(t.names, name) {
				t.names = append(t.names, name)
			}
			between = 0
		case tok.raw == "," || tok.raw == "、" || tok.raw == "・":
		case tok.fold == "and" || tok.raw == "&" || tok.raw == "と" || tok.raw == "や":
			if between == 0 && len(t.names) > 0 {
				t.listed = true
			}
		default:
			between++
		}
	}
}

// japaneseName is a person or place in a run of Chinese characters: 田中様, 大阪支店.
func japaneseName(tokens []token, i int) string {
	raw := tokens[i].raw
	for _, end := range []string{"様", "氏", "殿", "先生", "部長", "課長", "社長", "支店", "支社", "営業所", "工場", "店", "駅", "市", "区", "県", "町", "村", "商事", "銀行"} {
		if rest, ok := strings.CutSuffix(raw, end); ok && len(rest) >= 3 {
			return rest
		}
	}
	if i+1 < len(tokens) && tokens[i+1].kind == kana && (strings.HasPrefix(tokens[i+1].raw, "さん") || strings.HasPrefix(tokens[i+1].raw, "くん")) {
		return raw
	}
	if rest, ok := strings.CutPrefix(raw, "株式会社"); ok && rest != "" {
		return rest
	}
	if rest, ok := strings.CutSuffix(raw, "株式会社"); ok {
		return rest
	}
	return ""
}

// verbLike reports whether a word that begins a sentence looks like a verb or an adverb rather than a name.
func verbLike(s string) bool {
	for _, end := range []string{"ing", "ed", "ly", "tion", "ment", "ize", "ise", "ate", "ify"} {
		if strings.HasSuffix(s, end) && len(s) > len(end)+2 {
			return true
		}
	}
	return false
}

// readPolarity counts negations, collects opposites and notes directions.
func (t *reader) readPolarity(tokens []token) {
	for i, tok := range tokens {
		switch tok.kind {
		case word:
			next := ""
			if i+1 < len(tokens) && tokens[i+1].kind == word {
				next = tokens[i+1].fold
			}
			if negative(tok.fold) && next != "hesitate" && next != "only" && next != "later" && next != "worries" && next != "problem" {
				t.negations++
			}
			if tok.used {
				continue
			}
			if next != "" {
				t.pole(ending(tok.fold)+" "+next, tok.fold+" "+next)
			}
			t.pole(ending(tok.fold), tok.fold)
			if to, ok := directions[tok.fold]; ok {
				t.direct(to, tokens[i+1:])
			}
		case han, kata:
			t.japanesePoles(tok.raw)
			if i+1 < len(tokens) && tokens[i+1].kind == kana {
				t.japaneseRole(tokens, i)
			}
		case kana:
			t.japanesePoles(tok.raw)
			t.negations += kanaNegations(tok.raw)
		case number, id:
			if i+1 < len(tokens) && tokens[i+1].kind == kana {
				t.japaneseRole(tokens, i)
			}
		}
	}
}

func (t *reader) pole(key, word string) {
	for _, p := range opposites[key] {
		p.word = word
		t.poles = append(t.poles, p)
	}
}

// japanesePoles finds opposites in a run of one script: words of two characters and more anywhere in it, single ones only alone. A prefix
// that negates (不, 未, 非, 無) counts as a negation.
func (t *reader) japanesePoles(run string) {
	runes := []rune(run)
	for i := range runes {
		if i+1 < len(runes) && strings.ContainsRune("不未非無", runes[i]) {
			t.negations++
		}
		for n := min(5, len(runes)-i); n >= 1; n-- {
			if n == 1 && len(runes) > 1 {
				break
			}
			w := string(runes[i : i+n])
			if len(opposites[w]) > 0 {
				t.pole(w, w)
				break
			}
		}
	}
}

func kanaNegations(s string) int {
	n := strings.Count(s, "ない") + strings.Count(s, "なかった") + strings.Count(s, "ません") + strings.Count(s, "なく") + strings.Count(s, "なし") +
		strings.Count(s, "ずに") + strings.Count(s, "せず")
	return n - strings.Count(s, "せずに") - strings.Count(s, "かもしれない") - strings.Count(s, "かもしれません") - strings.Count(s, "くださいません") - strings.Count(s, "ませんか")
}

func negative(s string) bool {
	return negations[s] || strings.HasSuffix(s, "n't") || strings.HasSuffix(s, "n’t")
}

// direct notes what follows "from" or "to": up to three words, to the next direction or mark.
func (t *reader) direct(to bool, tokens []token) {
	var head []string
	for _, tok := range tokens {
		if tok.kind == mark || len(head) == 3 {
			break
		}
		if _, ok := directions[tok.fold]; ok || tok.fold == "and" {
			break
		}
		if tok.fold == "the" || tok.fold == "my" || tok.fold == "our" || tok.kind == sign {
			continue
		}
		head = append(head, tok.fold)
	}
	if len(head) > 0 {
		t.roles = append(t.roles, role{to: to, head: strings.Join(head, " ")})
	}
}

// japaneseRole notes what stands before から, へ, に or まで.
func (t *reader) japaneseRole(tokens []token, i int) {
	next := tokens[i+1].raw
	from := strings.HasPrefix(next, "から") || strings.HasPrefix(next, "より")
	to := strings.HasPrefix(next, "へ") || strings.HasPrefix(next, "に") || strings.HasPrefix(next, "まで")
	if from || to {
		t.roles = append(t.roles, role{to: to, head: tokens[i].fold})
	}
}
