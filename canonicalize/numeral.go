package canonicalize

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// kanjiDigit is the value of a kanji that stands for a digit, also in the forms used on deeds, or -1.
func kanjiDigit(r rune) int {
	switch r {
	case '〇', '零':
		return 0
	case '一', '壱', '壹':
		return 1
	case '二', '弐', '貳', '貮':
		return 2
	case '三', '参', '參', '叁':
		return 3
	case '四', '肆':
		return 4
	case '五', '伍':
		return 5
	case '六', '陸':
		return 6
	case '七', '漆', '柒':
		return 7
	case '八', '捌':
		return 8
	case '九', '玖':
		return 9
	}
	return -1
}

// kanjiScale is the power of ten that a kanji stands for, or 0. Powers below 4 multiply a digit, those from 4 a whole section.
func kanjiScale(r rune) int {
	switch r {
	case '十', '拾':
		return 1
	case '百', '陌':
		return 2
	case '千', '阡', '仟':
		return 3
	case '万', '萬':
		return 4
	case '億':
		return 8
	case '兆':
		return 12
	case '京':
		return 16
	}
	return 0
}

// numeral is the state of reading 5億1万4千6百, 四千零五万, 二〇二六 or 29万1,890: the sections already multiplied, the section being
// built, and a digit that waits for its scale.
type numeral struct {
	total, section *big.Rat
	waiting        *big.Rat // nil where no digits wait
	small, big     int      // the scales that the next ones must stay below
	bigs           int      // how many of 万, 億, … were read
	kanji          bool     // some kanji was read
}

// cutNumeral reads digits, kanji numerals, and the two mixed.
func cutNumeral(s string) (*big.Rat, string, bool) {
	if r, rest, _, ok := cutArabic(s); ok && (rest == "" || rest[0] < utf8.RuneSelf) {
		return r, rest, true // no kanji follows: the common case
	}
	n := numeral{total: new(big.Rat), section: new(big.Rat), small: 4, big: 99}
	rest, read := s, false
	for rest != "" {
		next, ok := n.step(rest)
		if !ok {
			return nil, s, false
		}
		if next == rest {
			break
		}
		rest, read = next, true
	}
	r, ok := n.end()
	if !ok || !read {
		return nil, s, false
	}
	return n.point(r, rest)
}

// step reads one run of digits or one scale. It returns s itself where the numeral has ended, false where it is malformed.
func (n *numeral) step(s string) (string, bool) {
	r, size := utf8.DecodeRuneInString(s)
	if isDigit(s[0]) || s[0] == '.' || kanjiDigit(r) >= 0 {
		if n.waiting != nil {
			return s, true
		}
		value, rest, ok := cutRun(s)
		if !ok {
			return s, s[0] == '.'
		}
		n.waiting = value
		n.kanji = n.kanji || !isDigit(s[0])
		return rest, true
	}
	scale := kanjiScale(r)
	if scale == 0 || scale >= 4 && n.waiting == nil && n.section.Sign() == 0 && n.bigs == 0 {
		return s, true
	}
	if scale >= 4 && n.waiting == nil && n.section.Sign() == 0 && n.big >= scale {
		return s, true
	}
	n.kanji = true
	if scale < 4 {
		return s[size:], n.multiply(scale)
	}
	return s[size:], n.close(scale)
}

// cutRun reads a run of digits of one script.
func cutRun(s string) (*big.Rat, string, bool) {
	if isDigit(s[0]) || s[0] == '.' {
		r, rest, _, ok := cutArabic(s)
		return r, rest, ok
	}
	value, n := new(big.Int), 0
	for i, r := range s {
		d := kanjiDigit(r)
		if d < 0 {
			s = s[i:]
			return new(big.Rat).SetInt(value), s, n <= maxDigitsRead
		}
		n++
		value.Mul(value, big.NewInt(10)).Add(value, big.NewInt(int64(d)))
	}
	return new(big.Rat).SetInt(value), "", n <= maxDigitsRead
}

// multiply takes a scale below 万: 二百, 5千, or 百 alone.
func (n *numeral) multiply(scale int) bool {
	first := n.section.Sign() == 0
	value := n.waiting
	if value == nil {
		value = big.NewRat(1, 1)
	}
	if scale >= n.small || value.Sign() == 0 || !first && value.Cmp(powerOfTen(1)) >= 0 {
		return false
	}
	plus(n.section, times(value, powerOfTen(scale)))
	n.small, n.waiting = scale, nil
	return true
}

// close multiplies the section by 万 or more. 一万五千億 multiplies all that was read; that is allowed once.
func (n *numeral) close(scale int) bool {
	if !n.settle() {
		return false
	}
	if scale > n.big {
		if n.bigs != 1 {
			return false
		}
		times(plus(n.total, n.section), powerOfTen(scale))
	} else {
		if n.section.Sign() == 0 || scale == n.big {
			return false
		}
		plus(n.total, times(n.section, powerOfTen(scale)))
	}
	n.section.SetInt64(0)
	n.small, n.big = 4, scale
	n.bigs++
	return true
}

// settle adds the waiting digits to the section. They must be smaller than the last scale: 百200 is not a number.
func (n *numeral) settle() bool {
	if n.waiting == nil {
		return true
	}
	if n.small < 4 && n.waiting.Cmp(powerOfTen(n.small)) >= 0 || n.small < 4 && !n.waiting.IsInt() && n.bigs > 0 {
		return false
	}
	plus(n.section, n.waiting)
	n.waiting = nil
	return true
}

func (n *numeral) end() (*big.Rat, bool) {
	if !n.settle() {
		return nil, false
	}
	if n.bigs > 0 && n.section.Cmp(powerOfTen(n.big)) >= 0 {
		return nil, false
	}
	return plus(n.total, n.section), true
}

// point reads decimals after 点 or ・: 二点五, 21点2, 二百・七一.
func (n *numeral) point(r *big.Rat, rest string) (*big.Rat, string, bool) {
	mark, size := utf8.DecodeRuneInString(rest)
	if mark != '点' && (mark != '・' || !n.kanji) || !r.IsInt() {
		return r, rest, true
	}
	digits := rest[size:]
	value, after, ok := cutRun(digits + "\x00")
	if digits == "" || !ok || !value.IsInt() {
		return nil, rest, false
	}
	after = strings.TrimSuffix(after, "\x00")
	count := utf8.RuneCountInString(digits[:len(digits)-len(after)])
	if next, _ := utf8.DecodeRuneInString(after); count == 0 || kanjiScale(next) > 0 {
		return nil, rest, false
	}
	return r.Add(r, value.Quo(value, powerOfTen(count))), after, true
}

// cutBunno reads the upper part of 5分の4, whose lower part stands first.
func cutBunno(bottom *big.Rat, s, whole string) (*big.Rat, string, bool) {
	top, rest, ok := cutNumeral(s)
	if s == "" || !ok || bottom.Sign() == 0 || !bottom.IsInt() {
		return nil, whole, false
	}
	return top.Quo(top, bottom), rest, true
}

// addBunno reads the fraction of 1と5分の4.
func addBunno(r *big.Rat, s, whole string) (*big.Rat, string, bool) {
	bottom, rest, ok := cutNumeral(s)
	if s == "" || !ok {
		return r, whole, true
	}
	part, after, ok := cutBunno(bottom, strings.TrimPrefix(rest, "分の"), whole)
	if !ok || !strings.HasPrefix(rest, "分の") || part.Cmp(big.NewRat(1, 1)) >= 0 {
		return r, whole, true
	}
	return r.Add(r, part), after, true
}

// powerOfTen returns a shared value, to be read only.
func powerOfTen(n int) *big.Rat {
	if n < len(powers) {
		return powers[n]
	}
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

var powers = func() (p [len(tens)]*big.Rat) {
	for i := range p {
		p[i] = new(big.Rat).SetInt64(tens[i])
	}
	return p
}()

var tens = func() (t [19]int64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

// readings are numerals spelt in kana, longest first where one begins another.
var readings = []struct{ kana, kanji string }{
	{"ゼロ", "〇"}, {"れい", "零"},
	{"いっせん", "一千"}, {"さんぜん", "三千"}, {"はっせん", "八千"}, {"せん", "千"},
	{"さんびゃく", "三百"}, {"ろっぴゃく", "六百"}, {"はっぴゃく", "八百"}, {"ひゃく", "百"},
	{"じゅう", "十"}, {"まん", "万"}, {"おく", "億"}, {"いっちょう", "一兆"}, {"ちょう", "兆"},
	{"いち", "一"}, {"に", "二"}, {"さん", "三"}, {"よん", "四"}, {"し", "四"}, {"ご", "五"}, {"ろく", "六"}, {"なな", "七"},
	{"しち", "七"}, {"はち", "八"}, {"きゅう", "九"},
}

// cutReadings reads a numeral in kana.
func cutReadings(s string) (*big.Rat, string, bool) {
	var kanji strings.Builder
	rest := s
next:
	for rest != "" {
		for _, r := range readings {
			if after, ok := strings.CutPrefix(rest, r.kana); ok {
				if r.kana == "し" && strings.HasPrefix(after, "ち") {
					continue
				}
				kanji.WriteString(r.kanji)
				rest = after
				continue next
			}
		}
		break
	}
	if kanji.Len() == 0 {
		return nil, s, false
	}
	r, left, ok := cutNumeral(kanji.String())
	return r, rest, ok && left == ""
}
