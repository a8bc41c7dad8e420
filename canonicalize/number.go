package canonicalize

import (
	"math/big"
	"strconv"
	"strings"
)

// The number grammar of texts that people and models write: 1,234.50, 1.5e3, 2 1/4, 110万, 四億五千六百, "two and a half million".
// A value is an exact rational. Each cut function reads the longest number at the beginning of a text that human returned, and gives
// the rest. What has two readings is not read.

const (
	maxDigitsRead   = 60 // of one number in a text
	maxExponentRead = 60
)

// cutNumber reads a number with an optional sign.
func cutNumber(s string) (*big.Rat, string, bool) {
	negative, s := cutSign(s)
	r, rest, ok := cutUnsigned(s)
	if ok && negative {
		r.Neg(r)
	}
	return r, rest, ok
}

func cutSign(s string) (negative bool, rest string) {
	switch {
	case strings.HasPrefix(s, "-"):
		return true, strings.TrimPrefix(s[1:], " ")
	case strings.HasPrefix(s, "+"):
		return false, strings.TrimPrefix(s[1:], " ")
	case strings.HasPrefix(s, "マイナス"):
		return true, s[len("マイナス"):]
	}
	for _, word := range [...]string{"minus", "negative"} {
		if rest, ok := cutWord(s, word); ok {
			return true, rest
		}
	}
	return false, s
}

func cutUnsigned(s string) (*big.Rat, string, bool) {
	if s == "" {
		return nil, s, false
	}
	r, rest, ok := cutNumeral(s)
	if !ok {
		if r, rest, ok = cutReadings(s); !ok {
			return cutWords(s)
		}
	}
	if bottom, ok := strings.CutPrefix(rest, "分の"); ok {
		return cutBunno(r, bottom, rest)
	}
	for _, with := range [...]string{"と", "又", "また"} {
		if part, ok := strings.CutPrefix(rest, with); ok {
			return addBunno(r, part, rest)
		}
	}
	if dozen, ok := strings.CutPrefix(rest, "ダース"); ok {
		return r.Mul(r, big.NewRat(12, 1)), dozen, true
	}
	if !isDigit(s[0]) && s[0] != '.' {
		return r, rest, true
	}
	if fraction, after, ok := cutSlash(r, rest); ok {
		return fraction, after, true
	}
	if power, after, ok := cutPower(rest); ok {
		return r.Mul(r, power), after, true
	}
	return cutScales(r, rest)
}

// cutArabic reads digits with consistent grouping marks and at most one decimal mark. A comma before exactly three last digits groups,
// as in English and Japanese; ambiguous reports that a continental reader would take it for a decimal mark.
func cutArabic(s string) (r *big.Rat, rest string, ambiguous, ok bool) {
	plain, rest, ambiguous, ok := cutDigits(s)
	if !ok || len(plain) > maxDigitsRead {
		return nil, s, false, false
	}
	if len(plain) < 19 && strings.IndexByte(plain, '.') < 0 {
		n, _ := strconv.ParseInt(plain, 10, 64)
		return new(big.Rat).SetInt64(n), rest, ambiguous, true
	}
	r, ok = new(big.Rat).SetString(plain)
	return r, rest, ambiguous, ok
}

// cutDigits is cutArabic up to the text of the number: digits, with a point before the decimals.
func cutDigits(s string) (plain, rest string, ambiguous, ok bool) {
	first := countDigits(s)
	if first == 0 && !(len(s) > 1 && s[0] == '.' && isDigit(s[1])) {
		return "", s, false, false
	}
	var seps [16]byte
	n, end := 0, first
	for end+1 < len(s) && isMark(s[end]) && isDigit(s[end+1]) {
		size := countDigits(s[end+1:])
		if (s[end] == ' ' || s[end] == '\'') && size != 3 {
			break
		}
		if n == len(seps) {
			return "", s, false, false
		}
		seps[n] = s[end]
		n++
		end += 1 + size
	}
	if n == 0 {
		return s[:end], s[end:], false, true
	}
	whole, decimals, ambiguous, ok := splitGroups(s[:end], seps[:n])
	if !ok {
		return "", s, false, false
	}
	plain = stripMarks(whole)
	if decimals != "" {
		plain += "." + decimals
	}
	return plain, s[end:], ambiguous, true
}

// splitGroups finds the decimal mark among the marks of a number and checks the groups before it.
func splitGroups(s string, seps []byte) (whole, decimals string, ambiguous, ok bool) {
	last := seps[len(seps)-1]
	at := strings.LastIndexByte(s, last)
	alone := strings.IndexByte(s, last) == at // the last mark occurs once
	size := len(s) - at - 1
	switch {
	case len(seps) == 1 && last == ',' && size == 3 && grouped(s):
		return s, "", true, true
	case alone && last == '.', alone && last == ',' && (len(seps) > 1 || size < 3 || size == 3 && at == 1 && s[0] == '0'):
		whole = s[:at]
		return whole, s[at+1:], false, whole == "" || len(seps) == 1 || grouped(whole)
	}
	return s, "", false, grouped(s)
}

// grouped reports whether the marks of s, all of one kind, stand where groups of three end, or of two and a last of three as in
// 12,34,567.
func grouped(s string) bool {
	first := countDigits(s)
	if first == 0 || first > 3 || s[0] == '0' || first == len(s) {
		return false
	}
	mark := s[first]
	groups := strings.Split(s[first+1:], string(mark))
	indian := mark == ',' && first <= 2
	for i, g := range groups {
		if len(g) != countDigits(g) {
			return false
		}
		switch {
		case len(g) == 3 && i < len(groups)-1:
			indian = false
		case len(g) == 3:
		case len(g) == 2 && indian && i < len(groups)-1:
		default:
			return false
		}
	}
	// 12,34,567 must not be mixed with groups of three: 1,234,56,789.
	return indian || allThree(groups)
}

func allThree(groups []string) bool {
	for _, g := range groups {
		if len(g) != 3 {
			return false
		}
	}
	return true
}

func stripMarks(s string) string {
	if countDigits(s) == len(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if isDigit(s[i]) {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// cutSlash reads what makes a fraction: /4 of 3/4, or 1/4 of 2 1/4.
func cutSlash(r *big.Rat, s string) (*big.Rat, string, bool) {
	if bottom, rest, ok := cutInteger(strings.TrimPrefix(s, "/")); ok && strings.HasPrefix(s, "/") && bottom.Sign() != 0 {
		return r.Quo(r, bottom), rest, true
	}
	if !strings.HasPrefix(s, " ") || !r.IsInt() {
		return nil, s, false
	}
	top, rest, ok := cutInteger(strings.TrimLeft(s, " "))
	if !ok || !strings.HasPrefix(rest, "/") {
		return nil, s, false
	}
	bottom, rest, ok := cutInteger(rest[1:])
	if !ok || bottom.Sign() == 0 || top.Cmp(bottom) >= 0 {
		return nil, s, false
	}
	return r.Add(r, top.Quo(top, bottom)), rest, true
}

func cutInteger(s string) (*big.Rat, string, bool) {
	n := countDigits(s)
	if n == 0 || n > 18 || n < len(s) && (s[n] == '/' || s[n] == '.' || s[n] == ',') && n+1 < len(s) && isDigit(s[n+1]) && s[n] != '/' {
		return nil, s, false
	}
	i, _ := strconv.ParseInt(s[:n], 10, 64)
	return new(big.Rat).SetInt64(i), s[n:], true
}

// cutPower reads e-5 or x10^6.
func cutPower(s string) (*big.Rat, string, bool) {
	var exponent string
	for _, mark := range [...]string{"e", "E", "x10^", "×10^", " x 10^", " × 10^"} {
		if e, ok := strings.CutPrefix(s, mark); ok {
			exponent = e
			break
		}
	}
	signed := strings.TrimLeft(exponent, "+-")
	n := countDigits(signed)
	if n == 0 || n > 3 || len(exponent)-len(signed) > 1 {
		return nil, s, false
	}
	e, _ := strconv.Atoi(signed[:n])
	if e > maxExponentRead {
		return nil, s, false
	}
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil))
	if exponent[0] == '-' {
		power.Inv(power)
	}
	return power, signed[n:], true
}

// appendRat writes an exact value: a decimal where there is one, else a fraction in lowest terms. It returns nil for values that
// cutNumber would not read again.
func appendRat(dst []byte, r *big.Rat) []byte {
	if r.Num().IsInt64() && r.Denom().IsInt64() {
		if out, ok := appendFraction(dst, r.Num().Int64(), r.Denom().Int64()); ok {
			return out
		}
	}
	digits, exact := r.FloatPrec()
	switch {
	case !exact && max(r.Num().BitLen(), r.Denom().BitLen()) > 59: // 18 digits
		return nil
	case !exact:
		return append(dst, r.RatString()...)
	case digits >= maxDigitsRead:
		return nil
	}
	from := len(dst)
	dst = append(dst, r.FloatString(digits)...)
	if len(dst)-from >= maxDigitsRead {
		return nil
	}
	return dst
}

// appendFraction is appendRat for small decimals, without big numbers; false where the value is none.
func appendFraction(dst []byte, top, bottom int64) ([]byte, bool) {
	digits := 0
	for ; bottom > 1; digits++ {
		if top > 1e17 || top < -1e17 {
			return dst, false
		}
		switch {
		case bottom%10 == 0:
			bottom /= 10
		case bottom%2 == 0:
			top, bottom = top*5, bottom/2
		case bottom%5 == 0:
			top, bottom = top*2, bottom/5
		default:
			return dst, false
		}
	}
	if top < 0 {
		dst, top = append(dst, '-'), -top
	}
	if top < 0 || digits >= len(tens) {
		return dst, false // the smallest int64
	}
	dst = strconv.AppendInt(dst, top/tens[digits], 10)
	if digits == 0 {
		return dst, true
	}
	return appendWidth(append(dst, '.'), top%tens[digits], digits), true
}

// appendWidth writes n with leading zeros.
func appendWidth(dst []byte, n int64, width int) []byte {
	for width--; width > 0 && n < tens[width]; width-- {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, n, 10)
}

// times multiplies r in place, without the cost of fractions where both are small whole numbers.
func times(r, by *big.Rat) *big.Rat {
	if r.IsInt() && by.IsInt() && r.Num().BitLen()+by.Num().BitLen() < 63 {
		return r.SetInt64(r.Num().Int64() * by.Num().Int64())
	}
	return r.Mul(r, by)
}

// plus adds to r in place.
func plus(r, part *big.Rat) *big.Rat {
	if r.IsInt() && part.IsInt() && r.Num().BitLen() < 62 && part.Num().BitLen() < 62 {
		return r.SetInt64(r.Num().Int64() + part.Num().Int64())
	}
	return r.Add(r, part)
}

// cutWord cuts a whole word off, whatever its case, and the spaces after it.
func cutWord(s, word string) (string, bool) {
	if len(s) < len(word) || !strings.EqualFold(s[:len(word)], word) {
		return s, false
	}
	rest := s[len(word):]
	if rest != "" && isLetter(rest[0]) {
		return s, false
	}
	return strings.TrimLeft(rest, " "), true
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isMark(c byte) bool   { return c == ',' || c == '.' || c == ' ' || c == '\'' }
