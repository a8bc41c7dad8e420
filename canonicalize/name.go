package canonicalize

import (
	"strings"
	"unicode"
)

// nameType reads names of organisations and people: width, case, spaces and punctuation do not count, and ㈱, (株) and 株式会社 are one
// form, as are Ltd. and Limited. Which form it is and where it stands do count: 前株 and 後株 are two companies, and so are Inc. and LLC.
type nameType struct{}

func newName(params []string, _ Defaults) (Type, error) {
	if len(params) > 0 {
		return nil, &Error{Reason: "takes no parameters"}
	}
	return nameType{}, nil
}

func (nameType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	const remedy = "write the name of the person or organisation"
	if v.Kind != String {
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not a name", Remedy: remedy}
	}
	s, err := scalar(v, "a name", remedy)
	if err != nil {
		return nil, err
	}
	name, ok := untilSettled(s, foldParty)
	if !ok || name == "" || len(name) > maxHuman { // what & and short signs stand for may be longer; its form must be readable, too
		return nil, &Error{Reason: "is no name that can be read", Remedy: remedy}
	}
	return appendQuoted(dst, name), nil
}

// foldParty folds a name once; a second time may find a form that stood behind another sign.
func foldParty(s string) string {
	s = closeUp(foldHuman(human(s)))
	if strings.ContainsAny(s, "()會") || strings.Contains(s, "npo") {
		s = bankForms(kanjiForms.Replace(s))
	}
	return closeUp(latinForms(wordsOnly(s)))
}

// kanjiForms are the short signs of Japanese legal forms. Signs that stand for more than one form are left alone.
var kanjiForms = strings.NewReplacer(
	"(株)", "株式会社", "株式會社", "株式会社", "(有)", "有限会社", "有限會社", "有限会社", "(同)", "合同会社", "(資)", "合資会社", "(名)", "合名会社",
	"(医)", "医療法人", "(学)", "学校法人", "(福)", "社会福祉法人", "(宗)", "宗教法人", "(財)", "財団法人", "(社)", "社団法人",
	"(一社)", "一般社団法人", "(一財)", "一般財団法人", "(公社)", "公益社団法人", "(公財)", "公益財団法人", "(独)", "独立行政法人",
	"(特非)", "特定非営利活動法人", "npo法人", "特定非営利活動法人",
)

// bankForms reads the forms of bank transfers, where a name in kana begins with カ) or ends with (カ.
func bankForms(s string) string {
	for _, f := range [...]struct{ kana, form string }{{"カ", "株式会社"}, {"ユ", "有限会社"}, {"ド", "合同会社"}} {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(s, "("), f.kana+")"); ok && rest != "" {
			return f.form + rest
		}
		for _, end := range [...]string{"(" + f.kana + ")", "(" + f.kana} {
			if rest, ok := strings.CutSuffix(s, end); ok && rest != "" {
				return rest + f.form
			}
		}
	}
	return s
}

// wordsOnly takes punctuation away. A stop after a single letter vanishes (A.B.C. is ABC), other marks part words; & is "and"; a dash
// after katakana is the long vowel that it stands for.
func wordsOnly(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	letters := 0 // in the run before
	var last rune
	for _, r := range s {
		switch {
		case r == '\'':
		case r == '.' && letters == 1:
			letters = 0
			last = r
			continue
		case r == '&':
			b.WriteString(" and ")
		case r == '-' && unicode.Is(unicode.Katakana, last):
			r = 'ー'
			b.WriteRune(r)
		case r != '#' && r != '%' && r != '@' && r != '*' && r != '・' && unicode.IsPunct(r):
			b.WriteByte(' ')
		case r == '・':
		default:
			b.WriteRune(r)
		}
		if unicode.IsLetter(r) {
			letters++
		} else if r != '\'' {
			letters = 0
		}
		last = r
	}
	return oneSpace(b.String())
}

// latinForms shortens the legal forms at the end of a name.
func latinForms(s string) string {
	head, tail := s, ""
	for {
		at := strings.LastIndexByte(head, ' ')
		short, ok := legalForms[head[at+1:]]
		if at < 0 || !ok {
			break
		}
		head, tail = head[:at], " "+short+tail
	}
	if tail != "" {
		s = head + tail
	}
	for _, form := range longForms {
		if rest, ok := strings.CutSuffix(s, form.long); ok && rest != "" {
			return rest + form.short
		}
	}
	return s
}

var legalForms = map[string]string{
	"incorporated": "inc", "inc": "inc", "corporation": "corp", "corp": "corp", "limited": "ltd", "ltd": "ltd", "company": "co", "co": "co",
	"proprietary": "pty", "pty": "pty", "aktiengesellschaft": "ag", "ag": "ag", "llc": "llc", "plc": "plc", "lp": "lp", "llp": "llp", "gmbh": "gmbh",
}

// longForms are forms of several words, as latinForms leaves them.
var longForms = [...]struct{ long, short string }{
	{" limited liability co", " llc"}, {" public ltd co", " plc"}, {" public limited co", " plc"}, {" l l c", " llc"}, {" a s", " as"}, {" s a", " sa"},
	{" gesellschaft mit beschränkter haftung", " gmbh"},
}
