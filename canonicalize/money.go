package canonicalize

import (
	"math/big"
	"slices"
	"strings"
)

// moneyType reads an amount of a currency. Its canonical form is {"amount":"1234.5","currency":"EUR"}: the exact decimal without
// trailing zeros, in minor units (cents) where the policy says so.
type moneyType struct {
	code    string // declared currency; "" where a sibling or the configuration says it
	sibling Path   // where the sibling stands; the zero Path for none
	usual   string // the configuration's
	minor   bool
	grouped bool
}

const moneyRemedy = `write a plain decimal such as "1234.50"; grouping marks, 万 and currency signs need money(…|grouped)`

// newMoney makes money(JPY), money(field) with the name or path of the argument that holds the currency, or money, which takes the
// currency of an object {"amount", "currency"} or of the configuration. Options after |: minor, grouped.
func newMoney(params []string, d Defaults) (Type, error) {
	t := &moneyType{usual: strings.ToUpper(d.Currency)}
	if _, ok := currencyDigits(t.usual); t.usual != "" && !ok {
		return nil, &Error{Reason: "defaults.currency " + d.Currency + " is not a currency", Remedy: "write an ISO 4217 code such as JPY"}
	}
	params = slices.DeleteFunc(slices.Clone(params), func(p string) bool {
		t.minor = t.minor || p == "minor"
		t.grouped = t.grouped || p == "grouped"
		return p == "minor" || p == "grouped"
	})
	switch {
	case len(params) == 0:
		return t, nil
	case len(params) > 1:
		return nil, &Error{Reason: "money takes one currency or field", Remedy: "write money(JPY), money(field), money(JPY|minor) or money(JPY|grouped)"}
	}
	if _, ok := currencyDigits(params[0]); ok {
		t.code = params[0]
		return t, nil
	}
	path, err := ParsePath(params[0])
	t.sibling = path
	return t, err
}

func (t *moneyType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	declared, err := t.declared(args)
	if err != nil {
		return nil, err
	}
	object := v.Kind == Object // written by a program, with no grouping marks
	if object {
		if v, declared, err = t.object(v, declared); err != nil {
			return nil, err
		}
	}
	s, err := scalar(v, "an amount of money", moneyRemedy)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `{"amount":"`...)
	code := declared
	if code == "" {
		code = t.usual
	}
	if v.Kind == Number || isDecimal(s) && (object || !t.grouped || !continental(s)) {
		return t.finish(dst, s, code)
	}
	if !t.grouped {
		return nil, &Error{Reason: "is not a plain amount", Remedy: moneyRemedy}
	}
	s = closeUp(s)
	if digits, code, ok := t.simple(s, declared); ok {
		return t.finish(dst, digits, code)
	}
	amount, code, err := t.written(s, declared)
	if err != nil {
		return nil, err
	}
	digits, exact := amount.FloatPrec()
	if !exact {
		return nil, &Error{Reason: "is no exact amount", Remedy: moneyRemedy}
	}
	return t.finish(dst, amount.FloatString(digits), code)
}

// simple reads what most amounts are, digits and at most one sign of a currency, without arithmetic. Whatever else it meets it leaves
// to written.
func (t *moneyType) simple(s, declared string) (digits, code string, ok bool) {
	head, rest, hasHead := cutCoin(s)
	digits, after, ambiguous, ok := cutDigits(rest)
	if !ok || ambiguous && declared == "" || continental(rest[:len(rest)-len(after)]) {
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
	if decimals, _ := currencyDigits(code); err != nil || ambiguous && decimals > 2 {
		return "", "", false
	}
	return digits, code, true
}

// continental reports whether a plain numeral is also one with a grouping point, as 350.000 rupiah are written.
func continental(s string) bool {
	whole, fraction, _ := strings.Cut(s, ".")
	return len(fraction) == 3 && allDigits(whole) && allDigits(fraction) && grouped(whole+","+fraction)
}

// finish writes a decimal literal and its currency.
func (t *moneyType) finish(dst []byte, literal, code string) ([]byte, error) {
	if code == "" {
		return nil, &Error{Reason: "names no currency", Remedy: `declare money(JPY) or money(field), set defaults.currency, or send {"amount", "currency"}`}
	}
	digits, _ := currencyDigits(code)
	if t.minor {
		digits = 0
	}
	from := len(dst)
	dst = appendDecimal(dst, literal)
	for i, c := range dst[from:] {
		switch {
		case c == 'e':
			return nil, &Error{Reason: "is too large or too small for an amount of money", Remedy: moneyRemedy}
		case c == '.' && len(dst)-from-i-1 > digits:
			return nil, &Error{Reason: "has more decimals than " + t.unit(code), Remedy: "round it yourself, or send the currency's own precision"}
		}
	}
	dst = append(dst, `","currency":"`...)
	dst = append(dst, code...)
	return append(dst, `"}`...), nil
}

func (t *moneyType) unit(code string) string {
	if t.minor {
		return "minor units of " + code + " have"
	}
	return code + " has"
}

// siblings is the argument that holds the currency.
func (t *moneyType) siblings() []Path {
	if t.sibling.text == "" {
		return nil
	}
	return []Path{t.sibling}
}

// declared is the currency that the policy or the call states; "" where neither does.
func (t *moneyType) declared(args Value) (string, error) {
	if t.code != "" || t.sibling.text == "" {
		return t.code, nil
	}
	v, ok := t.sibling.Find(args)
	if !ok || v.Kind == Null {
		return "", nil
	}
	return currencyCode(v, t.sibling.text)
}

func currencyCode(v Value, name string) (string, error) {
	if v.Kind == String && len(v.Text) <= maxHuman {
		s := human(v.Text)
		if code := strings.ToUpper(s); len(code) == 3 {
			if _, ok := currencyDigits(code); ok {
				return code, nil
			}
		}
		if c, rest, ok := cutCoin(s); ok && rest == "" && len(c.codes) == 1 && c.scale == "" {
			return c.codes[0], nil
		}
	}
	return "", &Error{Reason: name + " is not a currency", Remedy: "write an ISO 4217 code such as JPY"}
}

// object reads {"amount": …, "currency": …}. Other members are refused: what they change cannot be known.
func (t *moneyType) object(v Value, declared string) (Value, string, error) {
	const remedy = `write {"amount": "12.50", "currency": "EUR"} or the amount alone`
	amount, ok := v.Member("amount")
	code, has := v.Member("currency")
	if !ok || len(v.Members) > 2 || len(v.Members) == 2 && !has {
		return v, "", &Error{Reason: "is not an amount of money", Remedy: remedy}
	}
	if !has {
		return amount, declared, nil
	}
	stated, err := currencyCode(code, "currency")
	if err == nil && declared != "" && stated != declared {
		err = &Error{Reason: "is in " + stated + " where " + declared + " is declared", Remedy: "send it in " + declared}
	}
	return amount, stated, err
}

// written reads an amount as people write it: $1,234.50, 110万円, EUR 20, three dollars fifty cents.
func (t *moneyType) written(s, declared string) (*big.Rat, string, error) {
	unread := &Error{Reason: "is not an amount of money", Remedy: `write it as "1,234.50", "¥1,100,000" or "110万円"`}
	s = trimReceipt(s)
	negative, s := cutSign(s)
	if after, ok := strings.CutPrefix(s, "a "); ok {
		if _, _, coin := cutCoin(after); coin {
			s = after // a $5 note is $5
		}
	}
	head, s, hasHead := cutCoin(s)
	if s = strings.TrimLeft(s, " "); hasHead && len(s) > 1 && s[0] == '-' && !isDigit(s[1]) {
		s = s[1:]
	}
	if !hasHead {
		head = coin{}
	}
	amount, rest, ambiguous, ok := cutAmount(s)
	if _, after, _, digits := cutDigits(s); digits && continental(s[:len(s)-len(after)]) {
		return nil, "", &Error{Reason: "may mean thousands or a fraction", Remedy: "write the amount without grouping marks, and no more decimals than the currency has"}
	}
	if !ok || negative && strings.HasPrefix(s, "-") {
		return nil, "", unread
	}
	tail, after, hasTail := cutCoin(strings.TrimLeft(rest, " -"))
	if hasTail {
		if rest = after; head.scale != "" || hasHead && tail.scale != "" {
			return nil, "", unread
		}
		amount, rest = scaleAfter(amount, rest) // 75 USD million
	}
	code, err := t.agree(head, tail, hasHead, hasTail, declared)
	if err != nil {
		return nil, "", err
	}
	if digits, _ := currencyDigits(code); ambiguous && digits > 2 {
		return nil, "", &Error{Reason: "may mean thousands or thousandths of " + code, Remedy: "write the amount without grouping marks"}
	}
	scaled := head.scale + tail.scale
	if scaled != "" {
		if t.minor && strings.HasPrefix(scaled, "0") {
			return nil, "", unread
		}
		amount.Mul(amount, mustRat(scaled))
	}
	if rest != "" && (hasHead || hasTail) && scaled == "" && amount.IsInt() && !t.minor {
		if rest, ok = addCents(amount, rest, code); !ok {
			return nil, "", unread
		}
	}
	if rest != "" {
		return nil, "", unread
	}
	if negative {
		amount.Neg(amount)
	}
	return amount, code, nil
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

// cutAmount is cutNumber with the letters that scale amounts, and with word of a comma that some read as a decimal mark.
func cutAmount(s string) (r *big.Rat, rest string, ambiguous, ok bool) {
	negative, s := cutSign(s)
	_, _, ambiguous, _ = cutDigits(s)
	if r, rest, ok = cutUnsigned(s); !ok {
		return nil, s, false, false
	}
	if negative {
		r.Neg(r)
	}
	if rest != "" {
		n := 1
		if strings.HasPrefix(rest, "bn") || strings.HasPrefix(rest, "BN") {
			n = 2
		}
		if scale, known := moneyLetters[strings.ToLower(rest[:n])]; known && (len(rest) == n || !isLetter(rest[n])) {
			return r.Mul(r, scale), rest[n:], ambiguous, true
		}
	}
	return r, rest, ambiguous, true
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
func addCents(amount *big.Rat, s, code string) (string, bool) {
	if digits, _ := currencyDigits(code); digits != 2 {
		return s, false
	}
	below := big.NewRat(1, 1)
	for s != "" {
		s = strings.TrimPrefix(skipListed(s), "と")
		bare := len(s) < 2 || countDigits(s) != 2
		part, rest, ok := cutUnsigned(s)
		if !ok || !part.IsInt() || part.Sign() == 0 {
			return s, false
		}
		scale := "0.01"
		if c, after, ok := cutCoin(strings.TrimLeft(rest, " ")); ok {
			if rest = after; c.scale == "" || !c.has(code) {
				return s, false
			}
			scale = c.scale
		} else if rest != "" || bare && isDigit(s[0]) {
			return s, false
		}
		part.Mul(part, mustRat(scale))
		if part.Cmp(below) >= 0 {
			return s, false
		}
		below = mustRat(scale)
		amount.Add(amount, part)
		s = rest
	}
	return "", true
}
