// Package meaning tells how close two wordings are, so that a caller can be asked whether it means the same thing again.
//
// It never decides that two texts are the same. Exact gates come first: numbers, ids, dates, money, names, negation, opposite words and
// directions must agree, because every measure of likeness ranks "one digit changed" above a true rewording. Only then is closeness
// measured, by words and character n-grams, in English and Japanese; embeddings and a judge model can be configured beside it.
package meaning

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
