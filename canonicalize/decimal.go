package canonicalize

import (
	"strconv"
	"strings"
)

// intType reads whole numbers: 3, 3.0, "3" and 3e0 are one.
type intType struct{}

func (intType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	start := len(dst)
	dst, err := appendNumber(dst, &v)
	if err != nil {
		return nil, err
	}
	if written := string(dst[start:]); strings.Contains(written, ".") || strings.Contains(written, "e-") {
		return nil, &Error{Reason: "is not a whole number", Remedy: "send one without a fraction; nothing is rounded"}
	}
	return dst, nil
}

// decimalType reads exact decimals: no float, no rounding, whatever their length.
type decimalType struct{}

func (decimalType) Canon(dst []byte, v Value, _ Value) ([]byte, error) { return appendNumber(dst, &v) }

func appendNumber(dst []byte, v *Value) ([]byte, error) {
	literal := v.Text
	switch v.Kind {
	case Number:
	case String:
		if literal = trim(literal); !isASCII(literal) {
			literal = strings.Map(narrow, literal)
		}
		if !isDecimal(literal) {
			return nil, &Error{Reason: "is not a plain decimal number", Remedy: "write it as 1234.5, without grouping marks, units or words"}
		}
	default:
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not a number", Remedy: "send a number"}
	}
	return appendDecimal(dst, literal), nil
}

// narrow makes full-width digits and marks of a number ASCII. NFKC would also make 102 of 10².
func narrow(r rune) rune {
	switch {
	case '０' <= r && r <= '９', r == '．', r == '＋', r == '－':
		return r - '！' + '!'
	case r == '\u2212':
		return '-'
	}
	return r
}

// isDecimal knows [+-]digits[.digits][e[+-]digits], within the limits that Parse sets for numbers. ".5" is one, "5." is not.
func isDecimal(s string) bool {
	if len(s) > maxDigits {
		return false
	}
	mantissa := s
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa = s[:at]
		exponent := strings.TrimLeft(s[at+1:], "+-")
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxExponent || !allDigits(exponent) || len(s)-at-1-len(exponent) > 1 {
			return false
		}
	}
	digits := strings.TrimLeft(mantissa, "+-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	return len(mantissa)-len(digits) <= 1 && allDigits(whole) && allDigits(fraction) &&
		whole+fraction != "" && !(hasPoint && fraction == "")
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
