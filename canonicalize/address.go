package canonicalize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addressType reads Japanese addresses as text: width, spaces, kanji numerals of blocks, 丁目, 番地, 番, 号 and every dash do not count.
// Nothing is looked up and nothing is added: an address without its prefecture is another text than one with it.
type addressType struct{}

// newAddress makes address(JP), or address where the configuration's region is JP.
func newAddress(params []string, d Defaults) (Type, error) {
	region := d.Region
	if len(params) > 0 {
		region = params[0]
	}
	if len(params) > 1 || !strings.EqualFold(region, "JP") {
		return nil, &Error{Reason: "is known for Japan only", Remedy: "write address(JP), or text(fold) for other countries"}
	}
	return addressType{}, nil
}

func (addressType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	const remedy = "write it as 東京都千代田区丸の内1-2-3"
	if v.Kind != String {
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not an address", Remedy: remedy}
	}
	s, err := scalar(v, "an address", remedy)
	if err != nil {
		return nil, err
	}
	s, ok := untilSettled(s, foldAddress)
	if !ok || s == "" {
		return nil, &Error{Reason: "is not an address", Remedy: remedy}
	}
	return appendQuoted(dst, s), nil
}

func foldAddress(s string) string {
	s = foldHuman(human(s))
	code, s := cutPostalCode(s)
	s = joinBlocks(blockNumerals(placeLetters.Replace(s)))
	s = dropSpaces(s)
	if code == "" || startsWithPrefecture(s) {
		return s // the code follows from the rest
	}
	return code + " " + s
}

// placeLetters unites letters that one place name is written with.
var placeLetters = strings.NewReplacer("ヶ", "ケ", "ヵ", "カ", "ｹ", "ケ")

// cutPostalCode reads 〒150-0001, 150-0001 or 〒1500001 before an address.
func cutPostalCode(s string) (code, rest string) {
	rest, marked := strings.CutPrefix(s, "〒")
	rest = strings.TrimLeft(rest, " ")
	if countDigits(rest) == 7 && marked {
		return "〒" + rest[:3] + "-" + rest[3:7], strings.TrimLeft(rest[7:], " ")
	}
	if countDigits(rest) != 3 {
		return "", s
	}
	first := rest[:3]
	rest, dash := strings.CutPrefix(strings.Replace(rest[3:], "ー", "-", 1), "-")
	if !dash || countDigits(rest) != 4 || len(rest) == 4 || rest[4] == '-' {
		return "", s
	}
	return "〒" + first + "-" + rest[:4], strings.TrimLeft(rest[4:], " ")
}

var prefectures = strings.Fields("北海道 青森県 岩手県 宮城県 秋田県 山形県 福島県 茨城県 栃木県 群馬県 埼玉県 千葉県 東京都 神奈川県 新潟県 富山県 石川県 福井県 " +
	"山梨県 長野県 岐阜県 静岡県 愛知県 三重県 滋賀県 京都府 大阪府 兵庫県 奈良県 和歌山県 鳥取県 島根県 岡山県 広島県 山口県 徳島県 香川県 愛媛県 高知県 福岡県 " +
	"佐賀県 長崎県 熊本県 大分県 宮崎県 鹿児島県 沖縄県")

func startsWithPrefecture(s string) bool {
	for _, p := range prefectures {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// blockNumerals turns kanji numerals that count blocks into digits: 九段南三丁目, 八条西六丁目, 十二番地の三, and the last of an address.
// Numerals inside names stay: 三番町, 六本木, 第一ビル.
func blockNumerals(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if kanjiDigit(r) < 0 && (kanjiScale(r) == 0 || kanjiScale(r) > 3) {
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		n, rest, ok := cutSmall(s)
		written := b.String()
		if ok && countsBlocks(rest, written) {
			b.WriteString(strconv.Itoa(n))
			s = rest
			continue
		}
		end := len(s) // a numeral that stays is copied whole
		for i, r := range s {
			if kanjiDigit(r) < 0 && kanjiScale(r) == 0 {
				end = i
				break
			}
		}
		b.WriteString(s[:end])
		s = s[end:]
	}
	return b.String()
}

// countsBlocks reports whether a numeral with rest after it and before standing before it counts blocks.
func countsBlocks(rest, before string) bool {
	if rest == "" {
		return before != ""
	}
	for _, word := range [...]string{"丁目", "丁", "番地", "条", "線", "地割", "-", "号"} {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	if after, ok := strings.CutPrefix(rest, "番"); ok {
		return !strings.HasPrefix(after, "町") && !strings.HasPrefix(after, "館") && !strings.HasPrefix(after, "街")
	}
	if after, ok := cutOf(rest); ok { // 一の三
		_, end, ok := cutSmall(after)
		return ok && (end == "" || strings.HasPrefix(end, "-") || strings.HasPrefix(end, "号") || strings.HasPrefix(end, "の"))
	}
	return before != "" && (isDigit(before[len(before)-1]) || before[len(before)-1] == '-' || strings.HasSuffix(before, "の") && digitBefore(strings.TrimSuffix(before, "の")))
}

func cutOf(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "の"); ok {
		return rest, true
	}
	return strings.CutPrefix(s, "ノ")
}

func digitBefore(s string) bool { return s != "" && isDigit(s[len(s)-1]) }

// joinBlocks writes 3丁目12番地の4号 as 3-12-4.
func joinBlocks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		n := countDigits(s)
		if n == 0 {
			_, size := utf8.DecodeRuneInString(s)
			b.WriteString(s[:size])
			s = s[size:]
			continue
		}
		b.WriteString(strings.TrimLeft(s[:n-1], "0"))
		b.WriteByte(s[n-1])
		joint, rest := cutBlockWord(s[n:])
		s = rest
		if !joint {
			continue
		}
		if s != "" && isDigit(s[0]) {
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), " -")
}

// cutBlockWord steps over what ends the number of a block, and reports whether something did.
func cutBlockWord(s string) (bool, string) {
	trimmed := strings.TrimLeft(s, " ")
	for _, word := range [...]string{"丁目", "丁", "番地の", "番地ノ", "番地", "番の", "番", "号の", "号", "の", "ノ", "-", "ー"} {
		rest, ok := strings.CutPrefix(trimmed, word)
		if !ok {
			continue
		}
		after := strings.TrimLeft(rest, " -ー")
		switch word {
		case "丁": // of Sakai
			if rest != "" && !isDigit(rest[0]) {
				return false, s
			}
		case "番":
			if startsWithAny(rest, "町", "館", "街", "外") {
				return false, s
			}
		case "号":
			if startsWithAny(rest, "室", "棟", "館", "線", "車", "店") {
				return false, s
			}
		case "の", "ノ", "-", "ー":
			if after == "" || !isDigit(after[0]) {
				return false, s
			}
		}
		if after != "" && isDigit(after[0]) && word != "号" && word != "番地" {
			return true, after
		}
		return true, rest // after 号 and 番地 a number beyond a space is a room
	}
	return false, s
}

func startsWithAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// dropSpaces keeps only the spaces that part two numbers or two Latin words.
func dropSpaces(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var last rune
	for i, r := range s {
		if r == ' ' {
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if !(unicode.IsDigit(last) && unicode.IsDigit(next) || unicode.Is(unicode.Latin, last) && unicode.Is(unicode.Latin, next)) {
				continue
			}
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}
