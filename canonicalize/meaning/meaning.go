// Package meaning tells how close two wordings are, so that a caller can be asked whether it means the same thing again.
//
// It never decides that two texts are the same. Exact gates come first: numbers, ids, dates, money, names, negation, opposite words and
// directions must agree, because every measure of likeness ranks "one digit changed" above a true rewording. Only then is closeness
// measured, by words and character n-grams, in English and Japanese; embeddings and a judge model can be configured beside it.
package meaning

import (
	"cmp"
	"slices"
)

// Threshold is the closeness from which two texts whose gates agree are worth asking about.
const Threshold = 0.42

// maxRunes is how much of a text is compared for closeness. The gates read all of it.
const maxRunes = 4000

// Text is a wording made ready for comparing. It is immutable and may be kept and shared; it holds a few bytes for each of its words.
type Text struct {
	facts     []fact   // exact values, sorted
	names     []string // proper names in the order of their first mention, folded
	listed    bool     // names are only listed: their order says nothing
	roles     []role   // from A, to B
	negations int
	poles     []pole
	words     []string // content words as they came, folded, in order
	stems     []string // the same words without endings, and one for all synonyms
	tokens    vector
	grams     vector
}

// Empty reports whether nothing in the text can be compared: no word and no exact value.
func (t Text) Empty() bool { return len(t.words) == 0 && len(t.facts) == 0 }

// Prepare reads a text. It is pure; the result may be cached under the text.
func Prepare(s string) Text {
	var r reader
	tokens := scan(s)
	r.readFacts(tokens)
	r.readNames(tokens)
	r.readPolarity(tokens)
	r.readWords(tokens)
	return r.Text
}

// reader collects what a text says.
type reader struct {
	Text
	loose []token // what is left of words that began with a counter: 円 in 円分
}

// Compare returns the closeness of two texts, from 0 to 1, and which exact gates differ, in words for people ("numbers: 4711 / 4712").
// Texts are worth asking about where nothing differs and the score reaches Threshold.
func Compare(a, b Text) (score float64, differs []string) {
	differs = gates(a, b)
	return closeness(a, b), differs
}

// Alike reports whether a caller should be asked about the two.
func Alike(a, b Text) bool {
	if differing(a, b) {
		return false
	}
	return closeness(a, b) >= Threshold
}

// Match is a candidate that a text may mean again.
type Match struct {
	Index int     // in the list of candidates
	Score float64 // 0 to 1
	Words []string
}

// Nearest returns the candidates that the query may mean again, the closest first. Words are those that only one of the two has: "+again"
// for one that only the query has, "-again" for one that only the candidate has.
func Nearest(query Text, candidates []Text) []Match {
	return nearest(query, candidates, func(i int) float64 { return closeness(query, candidates[i]) }, Threshold)
}

func nearest(query Text, candidates []Text, score func(i int) float64, threshold float64) []Match {
	var out []Match
	for i, c := range candidates {
		if differing(query, c) {
			continue
		}
		if s := score(i); s >= threshold {
			out = append(out, Match{Index: i, Score: s, Words: wordsApart(query, c)})
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// wordsApart lists the words that only one of the texts has, at most eight of each.
func wordsApart(a, b Text) []string {
	const most = 8
	only := func(x, y Text, sign string) (out []string) {
		have := make(map[string]bool, len(y.stems))
		for _, s := range y.stems {
			have[s] = true
		}
		for i, s := range x.stems {
			if !have[s] && len(out) < most {
				have[s] = true
				out = append(out, sign+x.words[i])
			}
		}
		return out
	}
	return append(only(a, b, "+"), only(b, a, "-")...)
}

// NearestCalls compares calls that have several fields of free text, by name: they may mean the same where every field is worded alike.
// A field that only one of them has is not compared, but at least one must be in both. The indices come closest first.
func NearestCalls(query map[string]string, candidates []map[string]string) []int {
	ready := make(map[string]Text, len(query))
	for name, s := range query {
		ready[name] = Prepare(s)
	}
	type found struct {
		at    int
		score float64
	}
	var out []found
	for i, c := range candidates {
		score, alike, common := 1.0, true, false
		for name, s := range c {
			q, ok := ready[name]
			if !ok {
				continue
			}
			if common = true; query[name] == s {
				continue
			}
			t := Prepare(s)
			if alike = !differing(q, t); !alike {
				break
			}
			if score = min(score, closeness(q, t)); score < Threshold {
				alike = false
				break
			}
		}
		if alike && common {
			out = append(out, found{i, score})
		}
	}
	slices.SortStableFunc(out, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	at := make([]int, len(out))
	for i, f := range out {
		at[i] = f.at
	}
	return at
}
