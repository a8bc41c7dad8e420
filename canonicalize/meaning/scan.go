package meaning

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// kind says what a token is made of.
type kind uint8

const (
	word   kind = iota // letters
	number             // digits, with grouping and decimals
	id                 // letters and digits mixed, addresses, paths
	han                // a run of Chinese characters
	kana               // hiragana
	kata               // katakana
	mark               // punctuation that ends a sentence or a clause
	sign               // one of the signs that stand with numbers: $ € £ ¥ % : / + - × #
)

// token is a piece of a text in NFKC.
type token struct {
	kind  kind
	raw   string // as it came, NFKC
	fold  string // lower case
	first bool   // begins a sentence
	glued bool   // no space before it
	used  bool   // read as part of an exact value
}

// scan cuts a text into tokens.
func scan(s string) []token {
	if !norm.NFKC.IsNormalString(s) {
		s = norm.NFKC.String(s)
	}
	sc := scanner{src: s, first: true}
	sc.out = make([]token, 0, len(s)/5+4)
	sc.run()
	return sc.out
}

type scanner struct {
	src   string
	out   []token
	first bool
	space bool
}

func (sc *scanner) run() {
	src := sc.src
	for i := 0; i < len(src); {
		r, size := decode(src[i:])
		class := classOf(r)
		switch class {
		case classSpace:
			if r == '\n' {
				sc.first = true
			}
			sc.space = true
			i += size
			continue
		case classAlnum:
			end := chunkEnd(src, i)
			sc.chunk(src[i:end])
			i = end
			continue
		case classHan, classKana, classKata:
			end := i + size
			for end < len(src) {
				r, n := decode(src[end:])
				if c := classOf(r); c != class && !(r == 'ー' && class != classHan) {
					break
				}
				end += n
			}
			sc.add(kind(han+kind(class-classHan)), src[i:end])
			i = end
			continue
		case classMark:
			sc.add(mark, src[i:i+size])
			sc.first = r == '.' || r == '!' || r == '?' || r == '。' || r == ':' || r == ';' || r == '•'
		case classSign:
			sc.add(sign, src[i:i+size])
		}
		i += size
	}
}

func (sc *scanner) add(k kind, raw string) {
	fold := raw
	if k != han && k != kana {
		fold = strings.ToLower(raw)
	}
	sc.out = append(sc.out, token{kind: k, raw: raw, fold: fold, first: sc.first, glued: !sc.space && len(sc.out) > 0})
	sc.space = false
	if k != mark && k != sign {
		sc.first = false
	}
}

type class uint8

const (
	classSpace class = iota
	classAlnum
	classHan
	classKana
	classKata
	classMark
	classSign
)

func classOf(r rune) class {
	if r < 0x80 {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_':
			return classAlnum
		case r <= ' ':
			return classSpace
		case strings.ContainsRune("$%:/+-#@&=*<>", r):
			return classSign
		}
		return classMark
	}
	switch {
	case unicode.Is(unicode.Han, r), r == '々', r == '〆':
		return classHan
	case unicode.Is(unicode.Hiragana, r):
		return classKana
	case unicode.Is(unicode.Katakana, r), r == 'ー':
		return classKata
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Mn, r):
		return classAlnum
	case unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
		return classSpace
	case strings.ContainsRune("€£¥×→", r):
		return classSign
	}
	return classMark
}

// chunkEnd is the end of the run of letters and digits that begins at i. Signs belong to it only between two of its characters: the dots
// of an address, the dashes of a document number, the apostrophe of a negation, the comma of a thousand.
func chunkEnd(src string, i int) int {
	end := i
	for end < len(src) {
		r, size := decode(src[end:])
		if classOf(r) == classAlnum {
			end += size
			continue
		}
		if end == i || end+size >= len(src) || !strings.ContainsRune(".,-'’@/:_+&=?%#~\\", r) {
			break
		}
		next, n := decode(src[end+size:])
		if r == ':' && next == '/' && end+size+n < len(src) { // http://
			if third, m := decode(src[end+size+n:]); third == '/' {
				end += size + n + m
				continue
			}
		}
		prev := src[end-1]
		switch {
		case classOf(next) != classAlnum || next > 0x7f && r != '\'' && r != '’' && r != '-' && r != '@':
			return end
		case r == ',' && !(isDigit(prev) && next < 0x80 && isDigit(byte(next))):
			return end
		case (r == ':' || r == '+' || r == '=' || r == '?' || r == '&' || r == '%' || r == '#' || r == '~') && !address(src[i:end]) && !(r == ':' && isDigit(prev) && next < 0x80 && isDigit(byte(next))):
			return end
		case r == '.' && !isDigit(prev) && (next >= 'A' && next <= 'Z') && !address(src[i:end]): // "done.Then"
			return end
		}
		end += size
	}
	return end
}

// address reports whether a chunk has begun like a URL or an e-mail address.
func address(s string) bool {
	return strings.Contains(s, "://") || strings.Contains(s, "@") || strings.HasPrefix(s, "www.")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// chunk sorts out what a run of letters and digits is.
func (sc *scanner) chunk(s string) {
	digits, letters, others := 0, 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			letters++
		default:
			others++
		}
	}
	switch {
	case address(s) || strings.Contains(s, "@"):
		sc.add(id, s)
	case digits == 0 && !strings.ContainsAny(s, "./\\_:"):
		sc.add(word, s)
	case digits == 0 && fileLike(s):
		sc.add(id, s)
	case digits == 0:
		sc.split(s)
	case letters == 0:
		sc.add(number, s)
	default:
		sc.mixed(s)
	}
}

// mixed splits "10am", "5kg" and "30x40" into number and unit; everything else of letters and digits is a reference.
func (sc *scanner) mixed(s string) {
	n := 0
	for n < len(s) && (isDigit(s[n]) || n > 0 && (s[n] == '.' || s[n] == ',' || s[n] == ':') && n+1 < len(s) && isDigit(s[n+1])) {
		n++
	}
	tail := strings.ToLower(s[n:])
	if n > 0 && (suffixes[tail] || units[tail] != "" || tail == "am" || tail == "pm") {
		sc.add(number, s[:n])
		sc.add(word, s[n:])
		return
	}
	if n > 0 && len(tail) > 1 && tail[0] == 'x' && allDigits(tail[1:]) {
		sc.add(number, s[:n])
		sc.add(sign, "×")
		sc.add(number, s[n+1:])
		return
	}
	sc.add(id, s)
}

// split takes apart words that stand together without a space: "and/or", "read_only".
func (sc *scanner) split(s string) {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("./\\_:", r) }) {
		sc.add(word, part)
	}
}

// fileLike reports whether a chunk without digits is a file, a path or a host: its last part is a short extension, or it has a slash and a dot.
func fileLike(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	return dot > 0 && len(s)-dot >= 3 && len(s)-dot <= 5 && !strings.HasSuffix(s, "e.g") && !strings.HasSuffix(s, "i.e") || strings.ContainsAny(s, "/\\") && dot > 0
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func decode(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}
