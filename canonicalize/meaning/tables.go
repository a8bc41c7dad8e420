package meaning

import "strings"

// The tables below are business English and Japanese: what agents write in subjects, notes and messages. Each line of a table is one
// meaning; its words are interchangeable for closeness only, never for a gate.

var synonyms = groups(`
buy purchase acquire 購入 買
sell vend 売却 販売
invoice bill 請求書 インボイス
payment pay remittance remit 支払 支払い 入金 決済
money fund cash 代金 お金
refund reimburse reimbursement repay 返金 払戻 払い戻し
cancel cancellation call-off revoke annul 取消 取り消し キャンセル 中止
order po 注文 発注 オーダー
customer client account-holder 顧客 お客様 得意先 取引先
supplier vendor 仕入先 業者
employee staff worker 従業員 社員 職員
meeting meet conference appointment call sync 会議 打合せ 打ち合わせ ミーティング
schedule plan arrange book reserve reservation booking 予約 予定 日程 スケジュール
delivery deliver ship shipment shipping dispatch 配送 発送 出荷 配達 納品
deadline due 期限 締切 締め切り 納期
urgent asap immediately emergency 至急 緊急
send forward mail email e-mail 送信 送付 送る メール
message notice notification notify inform 連絡 通知 お知らせ
report summary overview recap 報告 報告書 レポート 概要 要約
update change modify edit amend revise adjust alter 更新 変更 修正 改定
create make add new register set-up 作成 新規 登録 追加
delete remove erase drop 削除 抹消
check verify confirm confirmation validate 確認 検証 チェック
fix repair resolve solve 修理 修正 解決 対応
problem issue fault defect trouble error bug 問題 不具合 障害 故障 トラブル
broken damaged defective faulty 破損 壊
stuck jammed blocked 詰
ask request inquire inquiry query question 依頼 問合せ 問い合わせ 質問 照会
answer reply respond response 回答 返信 返事
help support assist assistance 支援 サポート 援助
price cost fee charge rate 価格 料金 費用 値段 単価
discount rebate 値引 値引き 割引
quote quotation estimate 見積 見積書 見積り
contract agreement 契約 契約書
document file doc paper 書類 文書 資料 ファイル
picture image photo 写真 画像
holiday vacation leave 休暇 休み
start begin commence launch kick-off kickoff 開始 スタート 起動
finish end complete completion done finalize 完了 終了
need require want 必要 要
big large 大
small little 小
quick fast rapid 迅速 早急
phone telephone 電話
address location place venue site 住所 場所 所在地
hotel inn lodging ホテル 宿泊
room 部屋 会議室
flight plane 便 フライト
car vehicle auto 車 車両
printer プリンタ プリンター 印刷機
computer pc laptop パソコン
adult grown-up 大人
team group チーム
talk discuss discussion 相談 協議
feedback comment remark 意見 コメント
hello hi hey dear greetings
thanks thank thx ありがとう
regards sincerely best cheers 敬具
lunch 昼食 ランチ
dinner supper 夕食 ディナー
restaurant diner eatery レストラン
company firm corporation 会社 企業
department dept division 部署 部門
store shop 店舗 店
warehouse depot 倉庫
stock inventory 在庫
item product goods article 商品 品目 製品
quantity qty amount 数量 個数
increase raise 増加 引き上げ
manager boss supervisor 上司 管理者
approve authorize 承認
jobless unemployment
street st
avenue ave
road rd
boulevard blvd
drive dr
apartment apt
building bldg
january jan
february feb
alabama al
alaska ak
arizona az
arkansas ar
california calif ca
colorado colo
connecticut ct
florida fla fl
georgia ga
illinois il
indiana ind
iowa ia
kansas ks
kentucky ky
maryland md
massachusetts mass ma
michigan mich mi
minnesota minn mn
missouri mo
nebraska ne
nevada nv
ohio oh
pennsylvania pa
tennessee tn
texas tx
utah ut
virginia va
washington wa
wisconsin wi
`)

// opposites maps a word (its stem, or a stem and the word behind it) to the ends of the pairs it stands for. The words left of the bar
// exclude those right of it.
var opposites = axes(`
enable activate turn_on switch_on power_on 有効 有効化 オン | disable deactivate turn_off switch_off power_off 無効 無効化 オフ
approve accept authorize 承認 承諾 可決 受諾 | reject deny decline refuse disapprove 却下 否認 否決 拒否 拒絶 辞退 差戻
allow permit grant 許可 | forbid prohibit ban block revoke deny 禁止 拒否 不許可
add append insert 追加 | remove delete erase drop 削除 除外 抹消
create open issue establish 作成 新規作成 | delete cancel void close destroy 削除 廃止 破棄
open 開 開店 開場 | close shut 閉 閉店 閉場
lock ロック 施錠 | unlock ロック解除 解錠
start begin resume launch 開始 再開 起動 着手 | stop end pause halt suspend terminate 停止 終了 中断 休止 中止
subscribe 購読 加入 入会 | unsubscribe 解約 脱退 退会
increase raise rise grow up 増加 増額 増員 値上 引上 上昇 増 | decrease reduce lower fall drop cut down 減少 減額 減員 値下 引下 下降 低下 減
buy purchase 購入 買付 買 仕入 | sell 売却 売付 販売 売
credit 入金 貸方 振込入金 | debit 出金 借方 引落
deposit 預入 預金 | withdraw withdrawal 引出 払出
pay charge 支払 請求 | refund reimburse 返金 払戻
hire 採用 雇用 入社 | fire dismiss 解雇 退職 退社 不採用
install インストール 設置 | uninstall アンインストール 撤去
connect attach link 接続 | disconnect detach unlink 切断
join enter 参加 入室 | leave quit exit 退出 退室 離脱
include 含 | exclude 除 除外
publish 公開 | unpublish 非公開
show display 表示 | hide 非表示
book reserve confirm 予約 確定 | cancel キャンセル 取消 解約
upgrade 昇格 アップグレード | downgrade 降格 ダウングレード
before 以前 事前 | after 以後 以降 事後
first earliest 最初 先頭 | last latest final 最後 末尾
left 左 | right 右
upper above 上 上段 | below under 下 下段
maximum max most highest 最大 最高 | minimum min least lowest 最小 最低
yes はい 可 | no いいえ 不可
true 正 | false 誤
public 公開 | private 非公開
morning am 午前 朝 | evening pm 午後 夜 夕方
more 多 | less fewer 少
high 高 | low 低
early 早 | late 遅
incoming inbound receive 受信 受取 受領 入荷 入庫 | outgoing outbound send 送信 送付 出荷 出庫 発送
import 輸入 インポート | export 輸出 エクスポート
internal 社内 内部 | external 社外 外部
domestic 国内 | international overseas abroad 海外 国外
available present 在席 出席 | unavailable absent 不在 欠席
success succeed pass 成功 合格 | fail failure 失敗 不合格
complete finish 完了 済 | incomplete pending unfinished 未完了 未済 保留
upload アップロード | download ダウンロード
encrypt 暗号化 | decrypt 復号
check_in チェックイン | check_out チェックアウト
log_in login sign_in ログイン | log_out logout sign_out ログアウト
departure depart 出発 往路 | arrival arrive return 到着 復路
uptown | downtown
north 北 | south 南
east 東 | west 西
hot 温 | cold 冷
male man 男性 | female woman 女性
wholesale 卸 | retail 小売
all every 全部 全員 | none nobody
always 常時 常に | never 決して
ascending 昇順 | descending 降順
permanent 恒久 永続 | temporary 臨時 一時
support agree 賛成 | oppose disagree 反対
lend 貸出 貸付 | borrow 借入 借用
win 勝 | lose loss 負
profit surplus 黒字 利益 | deficit 赤字 損失
mandatory required 必須 必要 | optional 任意 不要
daily 毎日 日次 | weekly 毎週 週次
weekly 毎週 週次 | monthly 毎月 月次
daily 毎日 日次 | monthly 毎月 月次
monthly 毎月 月次 | yearly annually annual 毎年 年次
one-way 片道 | round-trip 往復
`)

// currencies are words and signs of money; codes stand for themselves.
var currencies = pairs(`$ usd us$ usd dollar usd dollars usd usd usd € eur euro eur euros eur eur eur £ gbp pound gbp pounds gbp gbp gbp ¥ jpy yen jpy jpy jpy 円 jpy
chf chf cad cad aud aud cny cny rmb cny krw krw inr inr rupee inr rupees inr sek sek nok nok dkk dkk sgd sgd hkd hkd btc btc eth eth ドル usd ユーロ eur`)

// units are what numbers are counted in; a text that says kilograms does not mean one that says grams.
var units = pairs(`kg kg kilo kg kilos kg kilogram kg kilograms kg g g gram g grams g mg mg t t ton t tons t lb lb lbs lb pound lb oz oz
km km m m meter m meters m metre m metres m cm cm mm mm mile mi miles mi inch in inches in ft ft feet ft foot ft
l l liter l liters l litre l litres l ml ml gal gal gallon gal gallons gal
h h hr h hrs h hour h hours h min min mins min minute min minutes min s s sec s secs s second s seconds s day d days d week w weeks w month mo months mo year y years y
% % percent % pct % gb gb mb mb tb tb kb kb kwh kwh ℃ c パーセント % キロ kg グラム g リットル l`)

var months = map[string]int{"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7,
	"august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9, "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12}

var weekdays = pairs(`monday mo tuesday tu wednesday we thursday th friday fr saturday sa sunday su mondays mo tuesdays tu wednesdays we thursdays th fridays fr saturdays sa sundays su
mon mo tue tu tues tu wed we thu th thur th thurs th fri fr sat sa`)

var relatives = pairs(`today today tomorrow tomorrow yesterday yesterday tonight today tmrw tomorrow`)

var japaneseDays = [][2]string{{"明後日", "in 2 days"}, {"一昨日", "2 days ago"}, {"今日", "today"}, {"本日", "today"}, {"明日", "tomorrow"}, {"昨日", "yesterday"}, {"今週", "this week"}, {"来週", "next week"},
	{"先週", "last week"}, {"今月", "this month"}, {"来月", "next month"}, {"先月", "last month"}, {"今年", "this year"}, {"来年", "next year"}, {"昨年", "last year"}, {"去年", "last year"}, {"毎月", "every month"}}

var japaneseWeekdays = pairs(`月 mo 火 tu 水 we 木 th 金 fr 土 sa 日 su`)

var eras = map[string]int{"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}

var ordinals = pairs(`first 1 third 3 fourth 4 fifth 5 sixth 6 seventh 7 eighth 8 ninth 9 tenth 10 twice 2x thrice 3x`)

var numberWords = pairs(`zero 0 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18
nineteen 19 twenty 20 thirty 30 forty 40 fifty 50 sixty 60 seventy 70 eighty 80 ninety 90 hundred 100 thousand 1000 million 1000000 dozen 12 half 1/2 quarter 1/4`)

// suffixes may stand glued behind digits: 1st, 2nd, 5k.
var suffixes = set(`st nd rd th k m x`)

var negations = set(`not no never without nor neither none nobody nothing cannot cant dont doesnt didnt wont isnt arent wasnt shouldnt couldnt unable refrain avoid`)

// directions say where something comes from (false) or goes to (true).
var directions = map[string]bool{"from": false, "to": true, "into": true, "onto": true, "→": true}

var stopWords = set(`a an the and or of in on at by for with as is are was were be been being am do does did have has had will would can could shall should may might must
it its this that these those there here he she they we you i me my your his her their our us them him from to into onto up out if so than then too very just also again please kindly
about over under any some each other such only own same s t re ve ll d m what which who whom when where how why because while during per via regarding`)

// commonWords are words that are capitalised in titles and at the beginning of sentences without being names.
var commonWords = set(`account action activity add additional address adult afternoon agenda agent agreement alarm alert all amount analysis and annual answer any app application appointment approve april area article as ask assigned
assistance at attached attend august available back balance bank based beach best bill birthday board body book booking box break brief budget build building business by call cancel car card care case cash
change charge check checklist city claim class clean client close club code coffee comment company complete concert conference confirm confirmation contact content contract copy cost create credit current customer daily data date day
dear deadline december delivery demo department description design details dinner discount discuss discussion doctor document door draft drink due early email employee end error event evening exchange expense
family feature february feedback fee file final finance find first fix flight follow follow-up food for form free friday from full game garden gift go goal good group guest guide health hello help hi high holiday home hospital
hotel hour house how i id image important in info information initial inquiry insurance interview introduction invitation invoice is issue it item january job join july june just key kickoff kick-off last late latest launch
leave lesson let letter level library license list local location login long lost lunch main maintenance make management manager march market marketing material may me meal medical meet meeting member menu message minutes mobile monday
month monthly morning move music my name need network new news next night no not note notes notice november october of offer office on one online open option or order our out overview package page paper park part party
password pay payment performance personal phone photo picture pick plan planning play please point policy portal position post present presentation price print priority private problem process product profile program progress project proposal public purchase
quality question quick quote rate re read ready reason receipt record refund registration regarding release reminder rent repair reply report request required reservation reserve resolve response restaurant result return review ride road room round
sales saturday save schedule school score search seat second security send september service session set share shipping shop show sign site small social software special sports staff standard start statement status stay stock stop store
strategy student study subject submit subscription summary summer sunday supply support survey swim system table target task tax team technical test thank thanks that the theater there this thursday ticket time title to today tomorrow top tour track
training transaction transfer travel trip tuesday tv update upgrade urgent use user vacation video view visit voice wait walk warning we website wednesday week weekly weekend welcome what when where who why will winter with work workout workshop
world would year yes you your yesterday sincerely regards cheers best kind warm summary here hey note breakfast brunch dentist gym yoga class run hiking practice rehearsal standup stand-up sync catch-up retrospective sprint backlog`)

func common(s string) bool {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	if commonWords[s] || stopWords[s] || negations[s] || months[s] != 0 || weekdays[s] != "" || synonyms[s] != "" && len(s) > 3 {
		return true
	}
	if n := len(s); n > 4 && s[n-1] == 's' {
		return common(s[:n-1])
	}
	return strings.ContainsAny(s, "'’") // I'm, we'll, it's
}

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

func pairs(s string) map[string]string {
	out := map[string]string{}
	fields := strings.Fields(s)
	for i := 0; i+1 < len(fields); i += 2 {
		out[fields[i]] = fields[i+1]
	}
	return out
}

// groups maps every word of a line, and its stem, to the line's first word. A word of several lines belongs to the first.
func groups(s string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		words := strings.Fields(line)
		for _, w := range words {
			for _, form := range []string{w, ending(w)} {
				if _, ok := out[form]; !ok && form != "" {
					out[form] = words[0]
				}
			}
		}
	}
	return out
}

// axes reads pairs of opposites, one a line. Words are looked up as they came, by their ending, and by their synonym.
func axes(s string) map[string][]pole {
	out := map[string][]pole{}
	for n, line := range strings.Split(strings.TrimSpace(s), "\n") {
		left, right, _ := strings.Cut(line, "|")
		for side, words := range []string{left, right} {
			for _, w := range strings.Fields(words) {
				w = strings.ReplaceAll(w, "_", " ")
				first, behind, _ := strings.Cut(w, " ")
				key := strings.TrimSpace(ending(first) + " " + behind)
				out[key] = append(out[key], pole{axis: uint16(n), side: uint8(side)})
			}
		}
	}
	return out
}
