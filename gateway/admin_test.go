package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A list is refused where what it is asked for is misspelt, and paged where it is not.
func TestListIsAskedRightly(t *testing.T) {
	h := openHouse(t, nil)
	for i := range 5 {
		h.call(t, "/v1/calls", fmt.Sprintf(`{"tool": "ship_order", "arguments": {"order": "A-%d"}}`, i))
	}
	h.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
	for i := range 3 {
		h.call(t, "/v1/calls", fmt.Sprintf(`{"tool": "ship_order", "arguments": {"order": "B-%d"}}`, i))
	}
	list := func(query string) (*http.Response, string) {
		return ask(t, "GET", h.operators.URL+"/v1/effects?"+query, "", "Authorization: Bearer ops")
	}
	cursors := map[string]string{}
	for state, want := range map[string]int{"": 8, "succeeded": 5, "indeterminate": 3} {
		seen := 0
		for cursor := ""; ; {
			var page struct {
				Effects []struct{ ID string }
				Cursor  string
			}
			res, text := list("limit=2&state=" + state + "&cursor=" + cursor)
			if err := json.Unmarshal([]byte(text), &page); err != nil || res.StatusCode != 200 {
				t.Fatal(res.StatusCode, text)
			}
			seen += len(page.Effects)
			if cursor = page.Cursor; cursor == "" {
				break
			}
			cursors[state] = cursor
		}
		if seen != want || cursors[state] == "" {
			t.Errorf("%q: %d effects, last cursor %q", state, seen, cursors[state])
		}
	}
	for query, detail := range map[string]string{
		"state=foo":                     "known are claimed, in_flight, succeeded, failed, indeterminate",
		"state=Indeterminat":            "did you mean indeterminate?",
		"sate=indeterminate":            "did you mean state?",
		"state=failed&state=succeeded":  "state: is given twice",
		"limit=many":                    "send a number from 1 to 1000",
		"limit=0":                       "send a number from 1 to 1000",
		"limit=1001":                    "send a number from 1 to 1000",
		"cursor=x":                      "cursor: is none of this list",
		"state=indeterminate&cursor=eA": "cursor: is none of this list",
		"state=indeterminate&cursor=" + cursors["succeeded"]: "cursor: is none of this list",
		"cursor=" + cursors["indeterminate"]:                 "cursor: is none of this list",
	} {
		if res, text := list(query); res.StatusCode != 400 || !strings.Contains(text, detail) {
			t.Errorf("%s: %d %s", query, res.StatusCode, text)
		}
	}
}
