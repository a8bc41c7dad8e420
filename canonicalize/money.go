package canonicalize

import (
	"slices"
	"strconv"
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

// finish writes a decimal literal and its currency.
func (t *moneyType) finish(dst []byte, literal, code string) ([]byte, error) {
	if code == "" {
		if field := t.sibling.String(); field != "" {
			return nil, &Error{Reason: "names no currency", Remedy: "send it as " + strconv.Quote(field)}
		}
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
