package canonicalize

import (
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// phoneType reads telephone numbers. Its canonical form is E.164 with the extension after it as RFC 3966 writes it:
// "+81312345678;ext=12". A number counts when its length is one that its country uses, whether it is assigned or not.
type phoneType struct {
	region string // ISO 3166-1 alpha-2 of numbers without a country code; "" refuses those
}

const phoneRemedy = `write it with its country code, as "+81 3-1234-5678"`

// newPhone makes phone, for numbers with a country code or of the configuration's region, or phone(JP).
func newPhone(params []string, d Defaults) (Type, error) {
	t := phoneType{region: strings.ToUpper(d.Region)}
	if len(params) > 1 {
		return nil, &Error{Reason: "takes one region", Remedy: "write phone(JP)"}
	}
	if len(params) == 1 {
		t.region = params[0]
	}
	if t.region != "" && phonenumbers.GetCountryCodeForRegion(t.region) == 0 {
		return nil, &Error{Reason: "has the unknown region " + t.region, Remedy: "write an ISO 3166-1 code such as JP"}
	}
	return t, nil
}

func (t phoneType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a phone number", phoneRemedy)
	if err != nil {
		return nil, err
	}
	s = phoneWords.Replace(closeUp(s))
	if main, ext, ok := strings.Cut(s, "内線"); ok {
		ext = strings.TrimSuffix(strings.TrimPrefix(ext, ":"), ")")
		if countDigits(ext) != len(ext) || ext == "" {
			return nil, &Error{Reason: "has an extension that is not a number", Remedy: phoneRemedy}
		}
		s = strings.TrimRight(main, " (,、") + ";ext=" + ext
	}
	number, reason := t.parse(s)
	if reason != "" {
		return nil, &Error{Reason: reason, Remedy: phoneRemedy}
	}
	dst = append(dst, '"')
	dst = append(dst, phonenumbers.Format(number, phonenumbers.E164)...)
	if ext := number.GetExtension(); ext != "" {
		dst = append(append(dst, ";ext="...), ext...)
	}
	return append(dst, '"'), nil
}

// phoneWords are what Japanese numbers carry: a long vowel mark for a dash, a note that this is the main line.
var phoneWords = strings.NewReplacer("ー", "-", "(代)", "", "(代表)", "", "代表", "")

// parse returns the number, or why there is none.
func (t phoneType) parse(s string) (*phonenumbers.PhoneNumber, string) {
	region := t.region
	if region == "" {
		region = "ZZ"
		if !strings.Contains(s, "+") {
			return nil, "has no country code"
		}
	}
	if strings.ContainsAny(s, "*#") || strings.Contains(s, ";") && !strings.Contains(s, ";ext=") && !strings.Contains(s, ";phone-context=") && !isTelURI(s) {
		return nil, "is not a phone number"
	}
	if number := plausible(s, region); number != nil {
		return number, ""
	}
	// The country code without +, or after the 00 that most of the world dials.
	digits := strings.TrimPrefix(s, "00")
	if number := plausible("+"+digits, region); number != nil && isDigit(digits[0]) && phonenumbers.IsValidNumber(number) {
		return number, ""
	}
	return nil, "is not a phone number of any length in use"
}

func isTelURI(s string) bool { return len(s) > 4 && strings.EqualFold(s[:4], "tel:") }

// plausible reads a number whose length its country uses for whole numbers, not only for local calls. Longer ones, up to the 15 digits
// of E.164, count where nothing is guessed of them: after a +, and in words to dial (1-800-SIX-FLAGS).
func plausible(s, region string) *phonenumbers.PhoneNumber {
	number, err := phonenumbers.Parse(s, region)
	if err != nil {
		return nil
	}
	national := phonenumbers.GetNationalSignificantNumber(number)
	switch phonenumbers.IsPossibleNumberWithReason(number) {
	case phonenumbers.IS_POSSIBLE:
		if !strings.Contains(s, "+") && !phonenumbers.IsValidNumber(number) && !usualLength(number, len(national)) {
			return nil
		}
	case phonenumbers.TOO_LONG:
		whole := phonenumbers.Format(number, phonenumbers.E164)
		if len(whole) > 16 || !strings.HasPrefix(s, "+") && !dialWords(s) {
			return nil
		}
		again, err := phonenumbers.Parse(whole, region)
		if err != nil || phonenumbers.GetNationalSignificantNumber(again) != national {
			return nil // of +1 1 1… the library takes a 1 away for a prefix, and of what is left another: two numbers would be one
		}
	default:
		return nil
	}
	if strings.HasPrefix(national, "0") && number.GetCountryCode() == 81 {
		return nil // 0081… dialled in Japan is not +81 0081…
	}
	return number
}

// usualLength reports whether the lines or mobile phones of the number's country have as many digits. The lengths that the library
// takes for possible are those of special services too: 8 to 17 digits in Japan.
func usualLength(number *phonenumbers.PhoneNumber, digits int) bool {
	region := phonenumbers.GetRegionCodeForCountryCode(int(number.GetCountryCode()))
	for _, kind := range [...]phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE} {
		example := phonenumbers.GetExampleNumberForType(region, kind)
		if example != nil && len(phonenumbers.GetNationalSignificantNumber(example)) == digits {
			return true
		}
	}
	return false
}

// dialWords reports whether a number ends in words after a short prefix.
func dialWords(s string) bool {
	at := strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && isLetter(byte(r)) })
	return at > 0 && at <= 6 && !strings.ContainsAny(s[at:], "0123456789")
}
