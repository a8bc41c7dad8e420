package canonicalize

import (
	"math/big"
	"strings"
	"sync"
	"unicode/utf8"
)

// unit is a measure of one dimension. A dimension's base unit has factor 1.
type unit struct {
	symbol    string
	dimension string
	factor    *big.Rat // base units in one of it; never changed
	offset    *big.Rat // what is added to a value before it is multiplied, for temperatures; nil for none
}

// unitRows is the table of units: dimension, symbol, factor, and after a colon other spellings. Factors are exact: SI (BIPM brochure,
// 9th edition), the international yard and pound of 1959, Japan's measurement law of 1951 (尺 is 10/33 m, 坪 400/121 m²).
// What different trades or countries read differently is a dimension of its own, so that a gallon is a gallon but never so many litres:
// gallon, ton, cup, barrel, pint, ounces of fluid, 畳, 斤.
const unitRows = `
mass kg 1: kilogram, kilogramme, kgs, kilos, キログラム, 瓩
mass g 1/1000: gram, gramme, gm, gs, グラム
mass mg 1/1000000: milligram, milligramme, ミリグラム
mass μg 1/1000000000: microgram, microgramme, mcg, ug, マイクログラム
mass t 1000: tonne, metric ton, トン, メートルトン, 瓲
mass lb 0.45359237: lbs, pound, ポンド
mass oz 0.028349523125: ounce, オンス
mass 貫 3.75: 貫目
mass 匁 0.00375: もんめ, momme
mass ct 0.0002: carat
ton ton 1: 
ton short ton 1: us ton, 米トン
length m 1: meter, metre, mtr, メートル, メーター, 米
length km 1000: kilometer, kilometre, kms, キロメートル, キロメーター
length dm 0.1: decimeter, decimetre, デシメートル
length cm 0.01: centimeter, centimetre, cms, センチメートル, センチ
length mm 0.001: millimeter, millimetre, ミリメートル
length μm 0.000001: micrometer, micrometre, micron, um, マイクロメートル, ミクロン
length nm 0.000000001: nanometer, nanometre, ナノメートル
length picometer 0.000000000001: picometre, ピコメートル
length in 0.0254: inch, inches, ", '', インチ, 吋
length ft 0.3048: foot, feet, ', フィート, フート, 呎
length yd 0.9144: yard, yds, ヤード, 碼
length mi 1609.344: mile, マイル, 哩
length nmi 1852: nautical mile, 海里
length 尺 10/33:
length 寸 1/33:
length 間 20/11:
length 里 43200/11:
area m2 1: sqm, ㎡, 平米, へいべい
area a 100: アール
area ha 10000: hectare, ヘクタール
area acre 4046.8564224: ac, エーカー
area 坪 400/121: tsubo
area 畝 12000/121:
area 反 120000/121:
area 町歩 1200000/121:
jo 畳 1: 帖
kin 斤 1:
volume L 1: l, ℓ, liter, litre, ltr, リットル, リッター
volume dL 0.1: dl, deciliter, decilitre, デシリットル
volume cL 0.01: cl, centiliter, centilitre
volume mL 0.001: ml, milliliter, millilitre, cc, ミリリットル, シーシー
volume μL 0.000001: ul, microliter, microlitre, マイクロリットル
volume kL 1000: kl, kiloliter, kilolitre, キロリットル
volume hL 100: hl, hectoliter, hectolitre, ヘクトリットル
volume 合 2401/13310:
volume 升 2401/1331:
volume 斗 24010/1331:
volume 石 240100/1331:
volume US gal 3.785411784: us gallon, 米ガロン
volume imp gal 4.54609: imperial gallon, uk gallon, 英ガロン
gallon gal 1: gallon, ガロン
quart quart 1: qt, クォート
pint pint 1: pt, パイント
fluid ounce fl oz 1: fluid ounce, floz, 液量オンス
cup cup 1: カップ
tablespoon tbsp 1: tablespoon, tbs, 大さじ
teaspoon tsp 1: teaspoon, 小さじ
barrel bbl 1: barrel, バレル
time s 1: sec, second, 秒, 秒間
time ms 0.001: millisecond, msec, ミリ秒
time min 60: minute, mins, 分, 分間
time h 3600: hr, hour, hrs, 時間
time d 86400: day, 日, 日間, 日齢
time wk 604800: week, wks, 週, 週間, 週齢
time fortnight 1209600:
calendar month 1: mo, mos, か月, ヶ月, ケ月, カ月, ヵ月, 箇月, ヶ月間, か月間, カ月間, ヵ月間, ケ月間, 月齢
calendar year 12: y, Y, yr, yrs, 年, 年間, 歳, 才, yo, y/o
degree degree 1: deg, °, 度
radian rad 1: radian, ラジアン
turn turn 1: revolution, 回転
data bit 1/8: ビット
data B 1: byte, バイト
data kB 1000: kilobyte, キロバイト
data MB 1000000: megabyte, メガバイト
data GB 1000000000: gigabyte, ギガバイト
data TB 1000000000000: terabyte, テラバイト
data kb 125: kbit, kilobit, キロビット
data Mb 125000: mbit, megabit, メガビット
data Gb 125000000: gbit, gigabit, ギガビット
data KiB 1024: kibibyte
data MiB 1048576: mebibyte
data GiB 1073741824: gibibyte
data TiB 1099511627776: tebibyte
power W 1: watt, ワット
power kW 1000: kilowatt, キロワット
power MW 1000000: megawatt, メガワット
energy J 1: joule, ジュール
energy kJ 1000: kilojoule, キロジュール
energy Wh 3600: watt hour, ワット時
energy kWh 3600000: kilowatt hour, キロワット時
energy MWh 3600000000: megawatt hour, メガワット時
pressure Pa 1: pascal, パスカル
pressure hPa 100: hectopascal, ヘクトパスカル
pressure kPa 1000: kilopascal, キロパスカル
pressure MPa 1000000: megapascal, メガパスカル
voltage V 1: volt, ボルト
current A 1: amp, ampere, アンペア
frequency Hz 1: hertz, ヘルツ
frequency kHz 1000: kilohertz, キロヘルツ
frequency MHz 1000000: megahertz, メガヘルツ
frequency GHz 1000000000: gigahertz, ギガヘルツ
percent % 1: percent, per cent, percentage, pct, パーセント
percent 割 10:
percent 分 1:
percent 厘 0.1:
percent ‰ 0.1: permille, per mille, パーミル
percent bp 0.01: bps, basis point, ベーシスポイント
piece pcs 1: pc, piece, 個, ヶ, ケ, コ, ピース
person people 1: person, persons, 人, 名, 名様
sheet sheets 1: sheet, 枚
long 本 1:
machine 台 1:
book 冊 1:
box box 1: boxes, 箱
case case 1: ケース
pack pack 1: pkt, packet, パック
bag bag 1: 袋
can can 1: 缶
bottle bottle 1: 瓶
bundle bundle 1: 束
roll roll 1: 巻
set set 1: セット, 組
carton carton 1: ctn, カートン
pallet pallet 1: パレット
item 件 1:
time of doing 回 1:
animal 匹 1:
pair pair 1: 足, ペア
`

// shortForms are spellings that mean one unit in one dimension and another in another; they are read only where the policy's unit
// decides, but for the first.
var shortForms = map[string]map[string]string{
	"キロ":    {"mass": "kg", "length": "km"},
	"kilo":  {"mass": "kg", "length": "km"},
	"k":     {"mass": "kg", "length": "km"},
	"ミリ":    {"length": "mm", "volume": "mL", "mass": "mg"},
	"m":     {"length": "m", "time": "min", "calendar": "month"},
	"'":     {"length": "ft", "time": "min"},
	"\"":    {"length": "in", "time": "s"},
	"ポイント":  {"percent": "%"},
	"point": {"percent": "%"},
	"pt":    {"percent": "%", "pint": "pint"},
	"分":     {"time": "min", "percent": "分"},
	"ケ":     {"piece": "pcs"},
	"コ":     {"piece": "pcs"},
}

// unitIndex finds units by spelling: as written, and in lower case where only one unit is written so.
type unitIndex struct {
	exact, folded map[string]*unit
	longest       int // bytes of the longest spelling
}

var units = sync.OnceValue(func() *unitIndex {
	x := &unitIndex{exact: map[string]*unit{}, folded: map[string]*unit{}}
	for row := range strings.Lines(unitRows) {
		head, names, ok := strings.Cut(strings.TrimSpace(row), ":")
		if !ok {
			continue
		}
		x.add(newUnit(head), names)
	}
	for _, t := range []struct{ symbol, factor, offset, names string }{
		{"°C", "1", "0", "c, celsius, celcius, centigrade, degree celsius, degrees celsius, degree c, degrees c, deg c, ° celsius, degree celcius, deg celsius, ℃, 摂氏"},
		{"°F", "5/9", "-32", "f, fahrenheit, degree fahrenheit, degrees fahrenheit, degree f, degrees f, deg f, ° fahrenheit, deg fahrenheit, ℉, 華氏"},
		{"K", "1", "-273.15", "kelvin, kelvins, ケルビン"},
	} {
		u := &unit{symbol: t.symbol, dimension: "temperature", factor: mustRat(t.factor), offset: mustRat(t.offset)}
		x.name(u, t.symbol)
		for name := range strings.SplitSeq(t.names, ", ") {
			x.name(u, human(name))
		}
	}
	return x
})

// newUnit reads "dimension symbol factor": dimensions and symbols may hold spaces, so the factor is found from the end.
func newUnit(head string) *unit {
	at := strings.LastIndexByte(head, ' ')
	dimension, symbol, _ := strings.Cut(head[:at], " ")
	for _, two := range [...]string{"fluid ounce", "time of doing"} {
		if rest, ok := strings.CutPrefix(head[:at], two+" "); ok {
			dimension, symbol = two, rest
		}
	}
	return &unit{symbol: symbol, dimension: dimension, factor: mustRat(head[at+1:])}
}

// add takes one row of the table.
func (x *unitIndex) add(u *unit, names string) {
	x.name(u, human(u.symbol))
	for name := range strings.SplitSeq(u.symbol+","+names, ",") {
		if name = human(name); name == "" {
			continue
		}
		x.name(u, name)
		if last := name[len(name)-1]; len(name) > 1 && isLetter(last) && last != 's' {
			x.name(u, name+"s")
		}
	}
}

func (x *unitIndex) name(u *unit, spelling string) {
	x.longest = max(x.longest, len(spelling))
	x.exact[spelling] = u
	low := strings.ToLower(spelling)
	if len(low) == 1 && !strings.Contains("glhcf", low) {
		return // 10M may be metres, millions or months
	}
	if other, ok := x.folded[low]; ok && other != u {
		x.folded[low] = nil // MB and Mb: mb is neither
		return
	}
	x.folded[low] = u
}

func mustRat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("unit factor " + s)
	}
	return r
}

// find looks a whole spelling up. dimension is that of the policy's unit, "" where none is declared.
func (x *unitIndex) find(s, dimension string) *unit {
	if forms, ok := shortForms[s]; ok && forms[dimension] != "" {
		return x.exact[forms[dimension]]
	}
	if dimension == "" && ambiguousAlone[s] {
		return nil
	}
	if u := x.exact[s]; u != nil {
		return u
	}
	return x.folded[strings.ToLower(s)]
}

// ambiguousAlone are spellings that mean nothing certain where no unit is declared.
var ambiguousAlone = map[string]bool{
	"k": true, "分": true, "ケ": true, "コ": true, "pt": true, "y": true, "Y": true, "米": true, "a": true,
	"C": true, "c": true, "F": true, "f": true, "K": true,
}

// cut reads the longest unit that s begins with.
func (x *unitIndex) cut(s, dimension string) (*unit, string) {
	for _, power := range [...]struct {
		word, dimension string
		exponent        int
	}{{"square ", "area", 2}, {"sq ", "area", 2}, {"sq. ", "area", 2}, {"平方", "area", 2}, {"cubic ", "volume", 3}, {"cu ", "volume", 3}, {"立方", "volume", 3}} {
		if rest, ok := strings.CutPrefix(strings.ToLower(s), power.word); ok {
			if u, rest := x.cut(s[len(s)-len(rest):], "length"); u != nil && u.dimension == "length" {
				return raise(u, power.exponent, power.dimension), rest
			}
		}
	}
	for end := min(len(s), x.longest); end > 0; end-- {
		if end < len(s) && (!utf8.RuneStart(s[end]) || isLetter(s[end-1]) && isLetter(s[end])) {
			continue
		}
		u := x.find(s[:end], dimension)
		if u == nil {
			continue
		}
		rest := s[end:]
		if u.dimension == "length" && rest != "" && s[end-1] != '\'' && s[end-1] != '"' && (len(rest) == 1 || !isDigit(rest[1])) {
			switch rest[0] {
			case '2':
				return raise(u, 2, "area"), rest[1:]
			case '3':
				return raise(u, 3, "volume"), rest[1:]
			}
		}
		return u, rest
	}
	return nil, s
}

// raise makes the square or cube of a length. The base of volumes is the litre, a thousandth of a cubic metre.
func raise(u *unit, exponent int, dimension string) *unit {
	factor := big.NewRat(1, 1)
	for range exponent {
		factor.Mul(factor, u.factor)
	}
	if exponent == 3 {
		factor.Mul(factor, big.NewRat(1000, 1))
	}
	return &unit{symbol: u.symbol + string(rune('0'+exponent)), dimension: dimension, factor: factor}
}

// per makes the quotient of two units: km/h.
func per(u, v *unit) *unit {
	return &unit{symbol: u.symbol + "/" + v.symbol, dimension: u.dimension + "/" + v.dimension, factor: new(big.Rat).Quo(u.factor, v.factor)}
}

// baseUnits are the symbols of the units with factor 1 that values are written in where no unit is declared.
var baseUnits = sync.OnceValue(func() map[string]string {
	base := map[string]string{"temperature": "°C"}
	for row := range strings.Lines(unitRows) {
		if head, _, ok := strings.Cut(strings.TrimSpace(row), ":"); ok {
			if u := newUnit(head); base[u.dimension] == "" && u.factor.Cmp(big.NewRat(1, 1)) == 0 {
				base[u.dimension] = u.symbol
			}
		}
	}
	return base
})
