package canonicalize

import (
	"math/big"
	"strings"
)

// Amounts of money as people write them, for money(…|grouped).

// simple reads what most amounts are, digits and at most one sign of a currency, without arithmetic. Whatever else it meets it leaves
// to written.
func (t *moneyType) simple(s, declared string) (digits, code string, ok bool) {
	head, rest, hasHead := cutCoin(s)
	digits, after, _, ok := cutDigits(rest)
	if !ok {
		return "", "", false
	}
	tail, end, hasTail := cutCoin(strings.TrimPrefix(after, " "))
	if !hasTail {
		end = after
	}
	if end != "" || head.scale != "" || tail.scale != "" || hasHead && hasTail {
		return "", "", false
	}
	code, err := t.agree(head, tail, hasHead, hasTail, declared)
	if decimals, _ := currencyDigits(code); err != nil || mistakable(rest, decimals) {
		return "", "", false
	}
	return digits, code, true
}

// continental reports whether a plain numeral is also one with a grouping point, as 350.000 rupiah are written.
func continental(s string) bool {
	whole, fraction, _ := strings.Cut(s, ".")
	return len(fraction) == 3 && allDigits(whole) && allDigits(fraction) && grouped(whole+","+fraction)
}

// mistakable reports whether the marks of the numeral that s begins with may be read otherwise by some, or do not go with a currency
// of so many decimals: 1.234, KWD 1,234, JPY 1,00.
func mistakable(s string, decimals int) bool {
	plain, after, ambiguous, ok := cutDigits(s)
	if !ok {
		return false
	}
	written := s[:len(s)-len(after)]
	_, fraction, _ := strings.Cut(plain, ".")
	return continental(written) || ambiguous && decimals > 2 ||
		decimals == 0 && fraction != "" && written[len(written)-len(fraction)-1] == ','
}

// written reads an amount as people write it: $1,234.50, 110万円, EUR 20, three dollars fifty cents.
func (t *moneyType) written(s, declared string) (*big.Rat, string, error) {
	unread := &Error{Reason: "is not an amount of money", Remedy: `write it as "1,234.50", "¥1,100,000" or "110万円"`}
	if strings.Contains(s, "/") { // $5/2 may be a price for two
		return nil, "", unread
	}
	s = trimReceipt(s)
	negative, s := cutSign(s)
	for _, mark := range [...]string{"▲", "△"} { // of Japanese accounts
		if rest, ok := strings.CutPrefix(s, mark); ok && !negative {
			negative, s = true, rest
		}
	}
	if after, ok := strings.CutPrefix(s, "a "); ok {
		if _, amount, coin := cutCoin(after); coin && amount != "" && isDigit(amount[0]) {
			s = after // a $5 note is $5
		}
	}
	head, s, hasHead := cutCoin(s)
	if s = strings.TrimLeft(s, " "); hasHead && len(s) > 1 && s[0] == '-' && !isDigit(s[1]) {
		s = s[1:]
	}
	amount, rest, ok := cutAmount(s)
	if !ok || negative && strings.HasPrefix(s, "-") {
		return nil, "", unread
	}
	tail, after, hasTail := cutCoin(strings.TrimLeft(rest, " -"))
	if hasTail {
		if head.scale != "" || hasHead && tail.scale != "" {
			return nil, "", unread
		}
		amount, rest = scaleAfter(amount, after) // 75 USD million
	}
	code, err := t.agree(head, tail, hasHead, hasTail, declared)
	if err != nil {
		return nil, "", err
	}
	if decimals, _ := currencyDigits(code); mistakable(s, decimals) {
		return nil, "", &Error{Reason: "has marks that may mean thousands or a fraction", Remedy: "write the amount without grouping marks, and no more decimals than the currency has"}
	}
	if !t.complete(amount, rest, head.scale+tail.scale, code, hasHead || hasTail) {
		return nil, "", unread
	}
	if negative {
		amount.Neg(amount)
	}
	return amount, code, nil
}

// complete multiplies an amount of cents, or adds the cents that follow whole units. It reports false where anything else follows.
func (t *moneyType) complete(amount *big.Rat, rest, scale, code string, named bool) bool {
	switch {
	case scale != "":
		if t.minor && scale[0] == '0' {
			return false
		}
		amount.Mul(amount, mustRat(scale))
	case rest != "":
		if !named || !amount.IsInt() || t.minor {
			return false
		}
		return addCents(amount, rest, code)
	}
	return rest == ""
}

// trimReceipt takes away what Japanese invoices fence amounts in with: 金1,100,000円也, ¥1,100,000-.
func trimReceipt(s string) string {
	if inner, ok := strings.CutPrefix(s, "金"); ok && strings.Contains(s, "円") {
		s = inner
	}
	if inner, ok := strings.CutSuffix(s, "円也"); ok {
		return inner + "円"
	}
	if strings.HasPrefix(s, "¥") {
		return strings.TrimSuffix(strings.TrimSuffix(s, "-"), ",")
	}
	return s
}

// agree finds the one currency that the spellings before and after the amount mean.
func (t *moneyType) agree(head, tail coin, hasHead, hasTail bool, declared string) (string, error) {
	if hasHead && len(head.codes) == 1 && hasTail && declared == "" {
		declared = head.codes[0]
	}
	if hasTail && len(tail.codes) == 1 && hasHead && declared == "" {
		declared = tail.codes[0]
	}
	code := declared
	if code == "" {
		code = t.usual
	}
	for _, c := range [...]struct {
		coin
		there bool
	}{{tail, hasTail}, {head, hasHead}} {
		if !c.there {
			continue
		}
		var ok bool
		if code, ok = c.resolve(declared, t.usual); !ok {
			return "", &Error{Reason: "names a currency that is not certain, or not the declared one", Remedy: "write the ISO 4217 code, such as USD"}
		}
	}
	if code == "" {
		return "", &Error{Reason: "names no currency", Remedy: `declare money(JPY|grouped) or money(field|grouped), set defaults.currency, or write "JPY 1,100,000"`}
	}
	return code, nil
}

// cutAmount is cutNumber with the letters that scale amounts.
func cutAmount(s string) (r *big.Rat, rest string, ok bool) {
	if r, rest, ok = cutNumber(s); !ok {
		return nil, s, false
	}
	if rest != "" {
		n := 1
		if strings.HasPrefix(rest, "bn") || strings.HasPrefix(rest, "BN") {
			n = 2
		}
		if scale, known := moneyLetters[strings.ToLower(rest[:n])]; known && (len(rest) == n || !isLetter(rest[n])) {
			return r.Mul(r, scale), rest[n:], true
		}
	}
	return r, rest, true
}

var moneyLetters = map[string]*big.Rat{"k": big.NewRat(1e3, 1), "m": big.NewRat(1e6, 1), "bn": big.NewRat(1e9, 1)}

func scaleAfter(amount *big.Rat, s string) (*big.Rat, string) {
	word, after := firstWord(strings.TrimLeft(s, " "))
	if scale := numberWords[word]; scale >= 1000 {
		return amount.Mul(amount, new(big.Rat).SetInt64(scale)), after
	}
	return amount, s
}

// addCents reads the hundredths after whole units: "43 cents", "and 43c", "6角3分", and two digits or a number word alone.
func addCents(amount *big.Rat, s, code string) bool {
	if digits, _ := currencyDigits(code); digits != 2 {
		return false
	}
	below := big.NewRat(1, 1)
	for s != "" {
		s = strings.TrimPrefix(skipListed(s), "と")
		bare := len(s) < 2 || countDigits(s) != 2
		part, rest, ok := cutUnsigned(s)
		if !ok || !part.IsInt() || part.Sign() == 0 {
			return false
		}
		scale := "0.01"
		if c, after, ok := cutCoin(strings.TrimLeft(rest, " ")); ok {
			if rest = after; c.scale == "" || !c.has(code) {
				return false
			}
			scale = c.scale
		} else if rest != "" || bare && isDigit(s[0]) {
			return false
		}
		part.Mul(part, mustRat(scale))
		if part.Cmp(below) >= 0 {
			return false
		}
		below = mustRat(scale)
		amount.Add(amount, part)
		s = rest
	}
	return true
}
