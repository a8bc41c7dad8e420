package canonicalize

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bojanz/currency"
)

// coin is what a currency is called in a text. Most spellings mean one currency. Some mean whichever of a family is declared: "$" is the
// Canadian dollar where that is declared, and the first of its family, where that is marked as usual, when nothing is declared.
type coin struct {
	codes []string
	usual bool   // the first code may be taken where none is declared
	scale string // "0.01" for cents, "1000000" for MUSD; "" is 1
}

const (
	dollars = "USD CAD AUD NZD SGD HKD TWD BSD BBD BZD BMD KYD FJD GYD JMD LRD NAD SBD SRD TTD XCD BND"
	pounds  = "GBP EGP LBP SYP FKP GIP SHP SDG SSP"
	rupees  = "INR PKR LKR NPR MUR SCR"
	francs  = "CHF XAF XOF XPF BIF CDF DJF GNF KMF RWF"
	pesos   = "MXN PHP ARS CLP COP DOP UYU CUP"
	crowns  = "SEK NOK DKK ISK"
	dinars  = "KWD BHD JOD IQD DZD TND LYD RSD"
	riyals  = "SAR QAR OMR YER IRR"
)

// coinRows: codes, then the spellings. A family with a usual member is marked with "!".
var coinRows = []struct{ codes, names string }{
	{"!" + dollars, "$ ＄ dollar dollars ドル 弗 どる bucks buck"},
	{"USD", "us$ usd$ u.s.$ us_dollar us_dollars american_dollar american_dollars united_states_dollar united_states_dollars 米ドル アメリカドル 米弗"},
	{"CAD", "c$ ca$ can$ cad$ cdn$ canadian_dollar canadian_dollars カナダドル 加ドル"},
	{"AUD", "a$ au$ aud$ australian_dollar australian_dollars オーストラリアドル 豪ドル"},
	{"NZD", "nz$ new_zealand_dollar new_zealand_dollars ニュージーランドドル NZドル"},
	{"SGD", "s$ sg$ singapore_dollar singapore_dollars シンガポールドル"},
	{"HKD", "hk$ hong_kong_dollar hong_kong_dollars 香港ドル 港元"},
	{"TWD", "nt$ tw$ new_taiwan_dollar new_taiwan_dollars taiwan_dollar taiwan_dollars 台湾ドル 新台湾ドル ニュー台湾ドル 台湾元"},
	{"!" + pounds, "£ ￡ pound pounds ポンド"},
	{"GBP", "british_pound british_pounds pound_sterling pounds_sterling sterling quid uk£ gb£ gbp£ イギリスポンド 英ポンド 英国ポンド"},
	{"EGP", "egyptian_pound egyptian_pounds エジプトポンド"},
	{"!JPY CNY", "¥ ￥ \\"},
	{"JPY", "円 圓 yen yens japanese_yen jp¥ 日本円 jpy¥ えん"},
	{"CNY", "yuan chinese_yuan renminbi rmb cn¥ 人民元 人民币 中国元 kuai"},
	{"!CNY TWD HKD", "元"},
	{"EUR", "€ euro euros ユーロ €ur"},
	{"KRW", "₩ won south_korean_won korean_won ウォン 韓国ウォン"},
	{rupees, "₨ rs rs. re rupee rupees ルピー"},
	{"INR", "₹ indian_rupee indian_rupees インドルピー"},
	{francs, "franc francs フラン"},
	{"CHF", "fr. sfr sfr. swiss_franc swiss_francs スイスフラン"},
	{pesos, "peso pesos ペソ"},
	{"MXN", "mex$ mx$ mexican_peso mexican_pesos メキシコペソ"},
	{"PHP", "₱ philippine_peso philippine_pesos フィリピンペソ"},
	{crowns, "kr kr. krona kronor krone kroner crown crowns クローナ クローネ"},
	{"SEK", "swedish_krona swedish_kronor スウェーデンクローナ"},
	{"NOK", "norwegian_krone norwegian_kroner ノルウェークローネ"},
	{"DKK", "danish_krone danish_kroner デンマーククローネ"},
	{"CZK", "kč czech_koruna czech_korunas"},
	{"PLN", "zł zl zloty zlotys zlotych ズウォティ"},
	{"HUF", "ft forint forints フォリント"},
	{dinars, "dinar dinars ディナール"},
	{"KWD", "kuwaiti_dinar kuwaiti_dinars"},
	{riyals, "riyal riyals rial rials リヤル リアル"},
	{"SAR", "saudi_riyal saudi_riyals サウジリヤル"},
	{"QAR", "qatari_riyal qatari_riyals カタールリヤル"},
	{"EGP SLE", "le l.e."},
	{"AED", "dirham dirhams uae_dirham uae_dirhams"},
	{"THB", "฿ baht バーツ タイバーツ"},
	{"VND", "₫ dong ドン ベトナムドン"},
	{"MYR", "rm ringgit ringgits malaysian_ringgit malaysian_ringgits malaysia_ringgit malaysia_ringgits リンギット"},
	{"IDR", "rp rp. rupiah ルピア インドネシアルピア"},
	{"BRL", "r$ real reais brazilian_real レアル ブラジルレアル"},
	{"RUB", "₽ ruble rubles rouble roubles russian_ruble russian_rubles ルーブル ロシアルーブル"},
	{"TRY", "₺ turkish_lira トルコリラ"},
	{"ILS", "₪ shekel shekels シェケル"},
	{"ZAR", "rand 南アフリカランド ランド"},
	{"NGN", "₦ naira nigerian_naira ナイラ"},
	{"UAH", "₴ hryvnia hryvnias"},
	{"KZT", "₸ tenge"},
	{"GEL", "₾ lari georgian_lari"},
	{"LAK", "₭ kip lao_kip"},
	{"MNT", "₮ tugrik tugriks"},
	{"GHS", "₵ cedi cedis"},
	{"BTC", "₿ bitcoin bitcoins xbt ビットコイン"},
}

// moreCoins are the other currencies of ISO 4217 by their English names.
const moreCoins = `AED emirati_dirham AFN afghani ALL albanian_lek AMD armenian_dram AOA angolan_kwanza ARS argentine_peso
AWG aruban_florin AZN azerbaijani_manat BAM bosnian_mark BBD barbadian_dollar BDT bangladeshi_taka BDT taka BHD bahraini_dinar
BIF burundian_franc BMD bermudian_dollar BMD bermuda_dollar BND brunei_dollar BOB boliviano BSD bahamian_dollar BTN ngultrum BWP botswana_pula BYN belarusian_ruble
BZD belize_dollar CDF congolese_franc CLP chilean_peso COP colombian_peso CRC costa_rican_colon CUP cuban_peso CVE cape_verdean_escudo
DJF djiboutian_franc DOP dominican_peso DZD algerian_dinar ERN eritrean_nakfa ETB ethiopian_birr ETB birr FJD fijian_dollar FJD fiji_dollar FKP falkland_islands_pound
GHS ghanaian_cedi GIP gibraltar_pound GMD gambian_dalasi GMD dalasi GNF guinean_franc GTQ guatemalan_quetzal GTQ quetzal GYD guyanese_dollar HNL honduran_lempira HNL lempira
HTG haitian_gourde HTG gourde IQD iraqi_dinar IRR iranian_rial ISK icelandic_krona JMD jamaican_dollar JOD jordanian_dinar KES kenyan_shilling KGS kyrgystani_som KHR cambodian_riel KHR riel
KMF comorian_franc KYD cayman_islands_dollar LBP lebanese_pound LKR sri_lankan_rupee LRD liberian_dollar LSL lesotho_loti LYD libyan_dinar MAD moroccan_dirham
MDL moldovan_leu MGA malagasy_ariary MKD macedonian_denar MKD denar MMK burmese_kyat MMK kyat MOP macanese_pataca MOP pataca MRU mauritanian_ouguiya MUR mauritian_rupee MVR maldivian_rufiyaa
MWK malawian_kwacha MZN mozambican_metical MZN metical NAD namibian_dollar NIO nicaraguan_cordoba NPR nepalese_rupee NPR nepali_rupee OMR omani_rial PAB panamanian_balboa PAB balboa PEN peruvian_sol
PGK papua_new_guinean_kina PGK kina PKR pakistani_rupee PYG paraguayan_guarani PYG guarani RON romanian_leu RSD serbian_dinar RWF rwandan_franc SBD solomon_islands_dollar SCR seychellois_rupee
SDG sudanese_pound SHP saint_helena_pound SLE sierra_leonean_leone SOS somali_shilling SRD surinamese_dollar SSP south_sudanese_pound SYP syrian_pound SZL lilangeni TJS somoni
TMT turkmenistani_manat TND tunisian_dinar TOP tongan_paanga TTD trinidad_and_tobago_dollar TZS tanzanian_shilling UGX ugandan_shilling UYU uruguayan_peso UZS uzbekistani_som
VES venezuelan_bolivar VUV vanuatu_vatu VUV vatu WST samoan_tala WST tala XAF central_african_cfa_franc XCD east_caribbean_dollar XOF west_african_cfa_franc XPF cfp_franc YER yemeni_rial
ZAR south_african_rand ZMW zambian_kwacha BRL brazilian_real THB thai_baht TRY turkish_lira ILS israeli_shekel ILS israeli_new_shekel CZK czech_crown PLN polish_zloty HUF hungarian_forint
IDR indonesian_rupiah MNT mongolian_tugrik KZT kazakhstani_tenge UAH ukrainian_hryvnia VND vietnamese_dong EUR eur GEL georgian_lari LAK laotian_kip`

// centRows are hundredths, and the families whose hundredth they are.
var centRows = []struct{ codes, scale, names string }{
	{dollars + " EUR MYR", "0.01", "cent cents ¢ c セント"},
	{"GBP", "0.01", "pence p ペンス"},
	{"GBP USD CAD", "0.01", "penny pennies"},
	{"JPY CNY", "0.01", "銭"},
	{"JPY MYR IDR", "0.01", "sen"},
	{"CNY TWD", "0.1", "角"},
	{"CNY TWD", "0.01", "分"},
	{"!UAH RUB", "0.01", "kopiyka kopiykas kopek kopeks"},
	{"!INR", "0.01", "paisa paise"},
	{"!BTC", "0.00000001", "satoshi satoshis"},
}

// coins are all spellings in lower case, and the length of the longest.
var coins = sync.OnceValues(func() (map[string]coin, int) {
	all := map[string]coin{}
	add := func(codes, scale, names string) {
		rest, usual := strings.CutPrefix(codes, "!")
		c := coin{codes: strings.Fields(rest), usual: usual, scale: scale}
		c.usual = usual || len(c.codes) == 1
		for name := range strings.FieldsSeq(names) {
			name = strings.ToLower(human(name))
			all[strings.ReplaceAll(name, "_", " ")] = c
			all[strings.ReplaceAll(name, "_", "")] = c
			if letters, ok := strings.CutSuffix(name, "$"); ok && letters != "" {
				all[letters+" $"] = c
			}
		}
	}
	for _, row := range coinRows {
		add(row.codes, "", row.names)
	}
	for _, row := range centRows {
		add(row.codes, row.scale, row.names)
	}
	for more := strings.Fields(moreCoins); len(more) > 0; more = more[2:] {
		add(more[0], "", more[1])
		add(more[0], "", more[1]+"s")
	}
	for _, code := range append(currency.GetCurrencyCodes(), "BTC") {
		add(code, "", code)
	}
	for _, code := range [...]string{"USD", "EUR", "GBP", "JPY", "AUD", "CAD", "CHF", "CNY", "INR"} {
		add(code, "1000000", "m"+code)
	}
	longest := 0
	for name := range all {
		longest = max(longest, len(name))
	}
	return all, longest
})

// cutCoin reads the longest name or sign of a currency that s begins with.
func cutCoin(s string) (coin, string, bool) {
	all, longest := coins()
	if s == "" || isDigit(s[0]) {
		return coin{}, s, false
	}
	low := s
	if !lowerASCII(s) {
		low = strings.ToLower(s)
		if len(low) != len(s) {
			return coin{}, s, false
		}
	}
	for end := min(len(s), longest); end > 0; end-- {
		if end < len(s) && (!utf8.RuneStart(s[end]) || isLetter(s[end-1]) && isLetter(s[end])) {
			continue
		}
		if c, ok := all[low[:end]]; ok {
			return c, s[end:], true
		}
	}
	return coin{}, s, false
}

func lowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || 'A' <= s[i] && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

// resolve picks the currency that c means where declared is the one that the policy or the call states, and usual that of the
// configuration. A spelling that cannot mean the declared currency is refused.
func (c coin) resolve(declared, usual string) (string, bool) {
	switch {
	case declared != "":
		return declared, c.has(declared)
	case c.has(usual):
		return usual, true
	}
	return c.codes[0], c.usual
}

func (c coin) has(code string) bool {
	for _, own := range c.codes {
		if own == code {
			return true
		}
	}
	return false
}

// currencyDigits is the number of decimals of a currency (ISO 4217; CLDR's table). Bitcoin is the one code outside the standard.
func currencyDigits(code string) (int, bool) {
	if code == "BTC" {
		return 8, true
	}
	digits, ok := currency.GetDigits(code)
	return int(digits), ok
}
