package meaning

import "testing"

func TestGates(t *testing.T) {
	for _, c := range []struct {
		a, b string
		ask  bool
	}{
		{"The blue printer in room 12 is jammed", "the blue printer  in room 12 is jammed", true},
		{"The blue printer in room 12 is jammed", "The blue printer in room 12 is jammed again", true},
		{"The blue printer in room 12 is jammed", "The blue printer in room 12 is not jammed", false},
		{"Transfer 100 EUR from account A to account B", "Transfer 100 EUR from account B to account A", false},
		{"enable 2FA for user 7", "disable 2FA for user 7", false},
		{"enable 2FA for user 7", "turn on 2FA for user 7", true},
		{"Approve payment 4711 of 1,000 EUR", "Approve payment 4712 of 1,000 EUR", false},
		{"Approve payment 4711 of 1,000 EUR", "Approve payment 4711 of 10,000 EUR", false},
		{"What is 1+1?", "What is 21+1?", false},
		{"What is 1+1?", "Tell a joke", false},
		{"Refund order SO-7001", "Refund order SO-7002", false},
		{"Dinner with Alice on Friday", "Dinner with Bob on Friday", false},
		{"Meeting on May 20, 2026", "Meeting on 2026-05-20", true},
		{"Meeting on May 20", "Meeting on May 21", false},
		{"Call at 10 AM", "Call at 10:00", true},
		{"Call at 10 AM", "Call at 10 PM", false},
		{"Pay $100 to the vendor", "Pay €100 to the vendor", false},
		{"Ship 5 kg of rice", "Ship 5 g of rice", false},
		{"Alice pays Bob", "Bob pays Alice", false},
		{"ユーザー7の二段階認証を有効にしてください", "ユーザー7の二段階認証を無効にしてください", false},
		{"会議室Aのプリンタが故障しました", "会議室Aのプリンターが故障しています", true},
		{"会議室Aのプリンタが故障しました", "会議室Bのプリンタが故障しました", false},
		{"請求書INV-001を承認してください", "請求書INV-001を却下してください", false},
		{"4月1日の会議を予約", "4月2日の会議を予約", false},
		{"令和8年4月1日に納品", "2026年4月1日に納品", true},
		{"田中様に見積書を送付", "鈴木様に見積書を送付", false},
		{"東京支店から大阪支店へ送る", "大阪支店から東京支店へ送る", false},
		{"商品は届いています", "商品は届いていません", false},
		{"110万円を振り込む", "1,100,000円を振り込む", true},
		{"110万円を振り込む", "120万円を振り込む", false},
		{"New York City", "NYC", true},
		{"Los Angeles", "LA", true},
		{"Los Angeles", "Los Angeles, CA", true},
		{"LA, CA", "Los Angeles, California", true},
		{"downtown", "uptown", false},
		{"I've seen your coffee mug in the meeting room.", "Hi Alice, I saw your coffee mug in the meeting room.", true},
		{"Restart the mail server", "Book a table for lunch", false},
		{"invoice paid", "invoice unpaid", false},
	} {
		a, b := Prepare(c.a), Prepare(c.b)
		score, differs := Compare(a, b)
		if got := Alike(a, b); got != c.ask || Alike(b, a) != got {
			t.Errorf("%q / %q: asked %v, want %v (score %.2f, differs %v)", c.a, c.b, got, c.ask, score, differs)
		}
		if (len(differs) > 0) != differing(a, b) {
			t.Errorf("%q / %q: differing says %v, gates say %v", c.a, c.b, differing(a, b), differs)
		}
		if s, _ := Compare(a, a); s < 0.999 {
			t.Errorf("%q is %v close to itself", c.a, s)
		}
	}
}
