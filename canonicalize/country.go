package canonicalize

import (
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// countryType reads a country. Its canonical form is the ISO 3166-1 alpha-2 code.
type countryType struct{}

func newCountry(params []string, _ Defaults) (Type, error) {
	if len(params) > 0 {
		return nil, &Error{Reason: "takes no parameters"}
	}
	return countryType{}, nil
}

func (countryType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	const remedy = "write its ISO 3166-1 code, such as JP"
	if v.Kind != String {
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not a country", Remedy: remedy}
	}
	s, err := scalar(v, "a country", remedy)
	if err != nil {
		return nil, err
	}
	code, ok := countries()[foldCountry(s)]
	if !ok {
		return nil, &Error{Reason: "is not a country that is known", Remedy: remedy}
	}
	return appendQuoted(dst, code), nil
}

// foldCountry takes case, stops and a leading article away: "The U.S.A." is "usa".
func foldCountry(s string) string {
	s = strings.ToLower(s)
	if strings.ContainsAny(s, ".&") || strings.Contains(s, "saint ") {
		s = countryMarks.Replace(s)
	}
	return strings.TrimPrefix(s, "the ")
}

var countryMarks = strings.NewReplacer(".", "", "&", "and", "saint ", "st ")

// otherCountries are names in use that the library's tables (CLDR) lack, old and official ones among them.
var otherCountries = map[string]string{
	"JP": "日本国", "US": "アメリカ|米国|アメリカ合衆国|america|united states of america|us of a", "GB": "uk|英国|great britain|britain|連合王国|united kingdom of great britain and northern ireland",
	"KR": "south korea|korea, republic of|republic of korea|大韓民国|韓国", "KP": "north korea|北朝鮮|朝鮮民主主義人民共和国", "CN": "prc|people's republic of china|中華人民共和国|中国",
	"TW": "taiwan|台湾|中華民国|republic of china", "HK": "hong kong|香港", "MO": "macau|macao|マカオ", "TR": "turkey|türkiye|turkiye|トルコ", "RU": "russian federation|ロシア連邦", "VN": "viet nam|ベトナム",
	"CZ": "czech republic|czechia|チェコ共和国|チェコ", "CI": "ivory coast|côte d'ivoire|cote d'ivoire|コートジボワール", "MK": "north macedonia|macedonia|北マケドニア", "SZ": "eswatini|swaziland|エスワティニ",
	"MM": "myanmar|burma|ミャンマー", "CV": "cape verde|cabo verde", "TL": "east timor|timor-leste", "LA": "laos|ラオス", "IR": "iran|イラン", "SY": "syria|シリア", "NL": "holland|オランダ", "DE": "西独|独逸|ドイツ連邦共和国",
	"AE": "uae|アラブ首長国連邦", "PS": "palestine|パレスチナ", "VA": "vatican|vatican city|バチカン", "BO": "bolivia", "VE": "venezuela", "TZ": "tanzania", "MD": "moldova", "BN": "brunei", "AU": "豪州", "IN": "印度", "CD": "dr congo|drc|democratic republic of the congo|democratic republic of congo|コンゴ民主共和国", "CG": "republic of the congo|congo republic|コンゴ共和国",
	"GE": "グルジア", "FM": "federated states of micronesia", "BS": "bahamas", "GM": "gambia", "FR": "仏国", "IT": "伊国",
}

// countries maps codes of two and three letters, English and Japanese names to the code. A name of two countries maps to neither.
var countries = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	add := func(name, code string) {
		name = foldCountry(human(name))
		if other, ok := all[name]; ok && other != code {
			code = ""
		}
		all[name] = code
	}
	english, japanese := display.Regions(language.English), display.Regions(language.Japanese)
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string(a) + string(b)
			region, err := language.ParseRegion(code)
			if err != nil || !region.IsCountry() || region.Canonicalize().String() != code || region.ISO3() == "ZZZ" {
				continue // the codes of countries that are no more lead to their successors
			}
			for _, name := range [...]string{code, region.ISO3(), english.Name(region), japanese.Name(region)} {
				add(name, code)
			}
		}
	}
	for code, names := range otherCountries {
		for name := range strings.SplitSeq(names, "|") {
			add(name, code)
		}
	}
	for name, code := range all {
		if code == "" {
			delete(all, name)
		}
	}
	return all
})
