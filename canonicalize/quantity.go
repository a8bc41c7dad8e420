package canonicalize

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// quantityType reads an amount of something: 1,500 g, 1.5 kg, 5 ft 2 in, 時速60キロ. Its canonical form is a string, the exact amount and
// the declared unit ("1.5 kg"), or the base unit of the dimension where none is declared.
type quantityType struct {
	unit  *unit // nil where none is declared, and for plain numbers
	plain bool  // quantity(1): a number of no unit
}

const quantityRemedy = `write a number and a unit, such as "1.5 kg"`

// newQuantity makes quantity, quantity(kg), quantity(%), or quantity(1) for numbers as people write them (1,234; 110万; 10k).
func newQuantity(params []string, _ Defaults) (Type, error) {
	switch {
	case len(params) == 0:
		return &quantityType{}, nil
	case len(params) > 1:
		return nil, &Error{Reason: "quantity takes one unit", Remedy: "write quantity(kg)"}
	case params[0] == "1":
		return &quantityType{plain: true}, nil
	}
	u, rest := cutUnit(human(params[0]), declaredDimension(params[0]))
	if u == nil || rest != "" {
		return nil, &Error{Reason: "quantity knows no unit " + params[0], Remedy: "write a symbol such as kg, m, L, h, %, 坪 or 個, or quantity(1) for plain numbers"}
	}
	return &quantityType{unit: u}, nil
}

// declaredDimension lets a policy say C, F or K, which in a text may mean other things.
func declaredDimension(unit string) string {
	if unit == "C" || unit == "F" || unit == "K" {
		return "temperature"
	}
	return ""
}

func (t *quantityType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a quantity", quantityRemedy)
	if err != nil {
		return nil, err
	}
	amount, u, err := t.read(closeUp(s))
	if err != nil {
		return nil, err
	}
	dst = appendRat(append(dst, '"'), amount)
	if dst == nil {
		return nil, &Error{Reason: "has too many digits", Remedy: quantityRemedy}
	}
	if symbol := t.symbol(u); symbol != "" {
		dst = append(dst, ' ')
		dst = append(dst, symbol...)
	}
	return append(dst, '"'), nil
}

func (t *quantityType) symbol(u *unit) string {
	if t.unit != nil {
		return t.unit.symbol
	}
	if u == nil {
		return ""
	}
	first, second, ratio := strings.Cut(u.dimension, "/")
	if ratio {
		return baseUnits()[first] + "/" + baseUnits()[second]
	}
	return baseUnits()[first]
}

// read gives the amount in the declared unit, or in the base unit of u.
func (t *quantityType) read(s string) (*big.Rat, *unit, error) {
	prefix, s := cutUnitPrefix(s)
	total, u, rest, err := t.term(s, prefix)
	if err != nil {
		return nil, nil, err
	}
	for rest != "" {
		var part *big.Rat
		var v *unit
		part, v, rest, err = t.term(skipListed(rest), "")
		if err != nil {
			return nil, nil, err
		}
		if u == nil || v == nil || v.dimension != u.dimension || u.offset != nil || v.factor.Cmp(u.factor) >= 0 || total.Sign() < 0 {
			return nil, nil, &Error{Reason: "is more than one quantity", Remedy: quantityRemedy}
		}
		plus(total, part)
		u = v
	}
	if t.unit != nil && u != nil {
		total = fromBase(total, t.unit)
	}
	return total, u, nil
}

// term reads one number and its unit, in base units.
func (t *quantityType) term(s, prefix string) (*big.Rat, *unit, string, error) {
	unread := &Error{Reason: "is not a quantity", Remedy: quantityRemedy}
	amount, rest, ok := cutNumber(s)
	if !ok {
		return nil, nil, "", unread
	}
	rest = strings.TrimLeft(rest, " ")
	if len(rest) > 1 && rest[0] == '-' && isLetter(rest[1]) {
		rest = rest[1:] // six-mile
	}
	if t.plain || rest == "" {
		if scale, ok := letterScales[rest]; ok && t.plain {
			return amount.Mul(amount, scale), nil, "", nil
		}
		if rest != "" || prefix != "" {
			return nil, nil, "", unread
		}
		if t.unit == nil {
			return amount, nil, "", nil
		}
		if amount, ok = t.bare(amount, s); !ok {
			return nil, nil, "", unread
		}
		return toBase(amount, t.unit), t.unit, "", nil
	}
	if scale, ok := letterScales[rest[:1]]; ok && len(rest) > 1 && (rest[1] == '%' || rest[1] >= utf8.RuneSelf) {
		amount.Mul(amount, scale) // 15k%
		rest = rest[1:]
	}
	u, rest := t.cutUnit(rest, prefix)
	if u == nil {
		return nil, nil, "", &Error{Reason: "has a unit that is not known, or means more than one", Remedy: quantityRemedy}
	}
	if t.unit != nil && u.dimension != t.unit.dimension {
		return nil, nil, "", &Error{Reason: "is in " + u.symbol + ", which is no measure of the kind of " + t.unit.symbol, Remedy: "send it in " + t.unit.symbol}
	}
	if u.dimension == "time" || u.dimension == "calendar" {
		rest = cutAge(rest)
	}
	return toBase(amount, u), u, strings.TrimLeft(rest, " "), nil
}

// bare reads a number without a unit as one of the declared unit. Of percent, 5/100 and 百分の五 are 5, and other fractions are refused:
// 1/2 is 50 % to some and half a percent to others.
func (t *quantityType) bare(amount *big.Rat, s string) (*big.Rat, bool) {
	if t.unit.dimension != "percent" || !strings.Contains(s, "/") && !strings.Contains(s, "分の") {
		return amount, true
	}
	if strings.HasSuffix(s, "/100") || strings.HasPrefix(s, "百分の") || strings.HasPrefix(s, "100分の") {
		return amount.Mul(amount, big.NewRat(100, 1)), true
	}
	return nil, false
}

// letterScales are the letters that multiply a plain number.
var letterScales = map[string]*big.Rat{
	"k": big.NewRat(1e3, 1), "K": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1),
}

func (t *quantityType) cutUnit(s, prefix string) (*unit, string) {
	if prefix == "摂氏" || prefix == "華氏" {
		if rest, ok := strings.CutPrefix(s, "度"); ok {
			return units().exact[prefix], rest
		}
		if rest, ok := strings.CutPrefix(s, "°"); ok {
			return units().exact[prefix], rest
		}
		return nil, s
	}
	dimension := ""
	if t.unit != nil {
		dimension = t.unit.dimension
	}
	if prefix != "" { // 時速
		u, rest := units().cut(s, "length")
		if u == nil || u.dimension != "length" {
			return nil, s
		}
		return per(u, units().exact[prefix]), rest
	}
	return cutUnit(s, dimension)
}

// cutUnit reads a unit, or a quotient of two: km, (kg), km/h, miles per hour, miles an hour, kph.
func cutUnit(s, dimension string) (*unit, string) {
	if inner, ok := strings.CutPrefix(s, "("); ok {
		name, rest, ok := strings.Cut(inner, ")")
		u, left := cutUnit(name, dimension)
		if !ok || left != "" {
			return nil, s
		}
		return u, rest
	}
	for _, speed := range [...]struct{ word, length string }{{"kph", "km"}, {"kmh", "km"}, {"km/h", "km"}, {"mph", "mi"}} {
		if rest, ok := cutWord(s, speed.word); ok {
			return per(units().exact[speed.length], units().exact["h"]), rest
		}
	}
	first, second, _ := strings.Cut(dimension, "/")
	u, rest := units().cut(s, first)
	if u == nil {
		if bare, ok := strings.CutSuffix(strings.ReplaceAll(s, ".", ""), "s"); ok || strings.HasSuffix(s, ".") {
			if u := units().find(bare, first); u != nil { // k.g., k.gs, deg.
				return u, ""
			}
		}
		return nil, s
	}
	if rest == "." {
		return u, ""
	}
	for _, by := range [...]string{"/", " per ", " an ", " a ", "毎"} {
		after, ok := strings.CutPrefix(rest, by)
		if !ok {
			continue
		}
		if second == "" {
			second = "time"
		}
		if v, rest := units().cut(after, second); v != nil && u.offset == nil {
			return per(u, v), rest
		}
	}
	return u, rest
}

// cutUnitPrefix reads what Japanese puts before the number: 摂氏 (華氏) 40度, 時速 60キロ.
func cutUnitPrefix(s string) (string, string) {
	for _, scale := range [...]string{"摂氏", "華氏"} {
		if rest, ok := strings.CutPrefix(s, scale); ok {
			rest = strings.TrimPrefix(rest, "温度")
			return scale, strings.TrimPrefix(rest, "の")
		}
	}
	for _, speed := range [...]struct{ word, unit string }{{"時速", "h"}, {"分速", "min"}, {"秒速", "s"}} {
		if rest, ok := strings.CutPrefix(s, speed.word); ok {
			return speed.unit, rest
		}
	}
	return "", s
}

// skipListed steps over what joins the parts of a compound quantity.
func skipListed(s string) string {
	s = strings.TrimPrefix(strings.TrimLeft(s, " ,."), "と")
	if rest, ok := cutWord(s, "and"); ok {
		return rest
	}
	return s
}

// cutAge steps over what makes a time an age.
func cutAge(s string) string {
	for _, words := range [...]string{" old", " of age"} {
		if rest, ok := strings.CutPrefix(s, words); ok {
			return rest
		}
	}
	return s
}

func toBase(amount *big.Rat, u *unit) *big.Rat {
	if u.offset != nil {
		amount.Add(amount, u.offset)
	}
	return times(amount, u.factor)
}

func fromBase(amount *big.Rat, u *unit) *big.Rat {
	if u.factor.Cmp(powerOfTen(0)) != 0 {
		amount.Quo(amount, u.factor)
	}
	if u.offset != nil {
		amount.Sub(amount, u.offset)
	}
	return amount
}
