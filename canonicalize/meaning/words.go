package meaning

import (
	"math"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// feature is a weighted word or n-gram, by its hash.
type feature struct {
	hash   uint32
	weight float32
}

// vector is a sparse vector of length one, sorted by hash.
type vector []feature

// readWords fills what closeness is measured on: words with their weights, and character n-grams.
func (t *reader) readWords(tokens []token) {
	var words, grams []feature
	runes := 0
	for _, tok := range slices.Concat(tokens, t.loose) {
		if runes > maxRunes {
			break
		}
		runes += len(tok.raw)
		switch {
		case tok.used || tok.kind == mark || tok.kind == sign: // exact values count as facts
			continue
		case tok.kind == kana:
			grams = appendGrams(grams, tok.raw, 2, 0.5)
			continue
		case tok.kind == han || tok.kind == kata:
			grams = appendGrams(grams, tok.raw, 2, 1)
		default:
			weight := float32(1)
			if stopWords[tok.fold] {
				weight = 0.15
			}
			grams = appendGrams(grams, " "+tok.fold+" ", 3, weight)
			if stopWords[tok.fold] {
				words = append(words, feature{hash(tok.fold), weight})
				continue
			}
		}
		s := stem(tok.fold)
		t.words = append(t.words, strings.TrimSuffix(tok.fold, "'s"))
		t.stems = append(t.stems, s)
		words = append(words, feature{hash(s), 1})
	}
	for _, f := range t.facts {
		words = append(words, feature{hash(f.value), 0.5})
	}
	t.tokens, t.grams = newVector(words), newVector(grams)
}

func hash(s string) uint32 { return uint32(xxhash.Sum64String(s)) }

// appendGrams appends the n-grams of s, or s itself where it is shorter.
func appendGrams(out []feature, s string, n int, weight float32) []feature {
	starts := make([]int, 0, 64)
	for i := range s {
		starts = append(starts, i)
	}
	starts = append(starts, len(s))
	if len(starts) <= n {
		return append(out, feature{hash(s), weight})
	}
	for i := 0; i+n < len(starts); i++ {
		out = append(out, feature{hash(s[starts[i]:starts[i+n]]), weight})
	}
	return out
}

// newVector sums what is there several times (dampened: the second time says less) and scales to length one.
func newVector(fs []feature) vector {
	slices.SortFunc(fs, func(a, b feature) int {
		switch {
		case a.hash < b.hash:
			return -1
		case a.hash > b.hash:
			return 1
		}
		return 0
	})
	out := fs[:0]
	count := float32(0)
	for i, f := range fs {
		if i > 0 && len(out) > 0 && out[len(out)-1].hash == f.hash {
			count++
			out[len(out)-1].weight += f.weight / (count + 1)
			continue
		}
		count = 0
		out = append(out, f)
	}
	var sum float64
	for _, f := range out {
		sum += float64(f.weight) * float64(f.weight)
	}
	if sum > 0 {
		scale := float32(1 / math.Sqrt(sum))
		for i := range out {
			out[i].weight *= scale
		}
	}
	return slices.Clone(out)
}

// dot is the cosine of two vectors of length one.
func dot(a, b vector) float64 {
	var sum float32
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i].hash < b[j].hash:
			i++
		case a[i].hash > b[j].hash:
			j++
		default:
			sum += a[i].weight * b[j].weight
			i++
			j++
		}
	}
	return float64(sum)
}

// closeness is the mean of the cosines of words and of n-grams; initials count as the words they stand for.
func closeness(a, b Text) float64 {
	if a.Empty() || b.Empty() {
		if a.Empty() && b.Empty() {
			return 1
		}
		return 0
	}
	words := dot(a.tokens, b.tokens)
	if modified(a, b) || modified(b, a) {
		return words / 2
	}
	if n := initials(a, b) + initials(b, a); n > 0 {
		words = min(1, words+float64(n)/float64(max(len(a.words), len(b.words))))
		return words
	}
	if len(a.grams) == 0 && len(b.grams) == 0 {
		return min(1, words)
	}
	return min(1, (words+dot(a.grams, b.grams))/2)
}

// modified reports whether a short text is another one of common words with words in front: a design backlog is not the backlog, while
// Paris, France is Paris and Hotel Ritz the Ritz.
func modified(long, short Text) bool {
	n := len(long.stems) - len(short.stems)
	return n > 0 && len(long.stems) <= 4 && len(short.stems) > 0 && slices.Equal(long.stems[n:], short.stems) && !slices.ContainsFunc(short.words, func(w string) bool { return !common(w) })
}

// initials counts the words of b that stand in a as initials.
func initials(a, b Text) (n int) {
	for _, w := range a.words {
		if len(w) >= 2 && len(w) <= 5 && !slices.Contains(b.words, w) && abbreviates(w, b) {
			n += len(w)
		}
	}
	return n
}

// stem takes the common endings off an English word and maps synonyms of business English and Japanese to one of them.
func stem(s string) string {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	if c, ok := synonyms[s]; ok {
		return c
	}
	if s == "" || s[0] >= 0x80 || len(s) < 4 {
		return s
	}
	s = ending(s)
	if c, ok := synonyms[s]; ok {
		return c
	}
	return s
}

// ending is a light stemmer: plurals, -ed, -ing, -ly and a final e go.
func ending(s string) string {
	if len(s) < 4 || s[0] >= 0x80 {
		return s
	}
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		s = s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "ches"), strings.HasSuffix(s, "shes"):
		s = s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && !strings.HasSuffix(s, "us") && !strings.HasSuffix(s, "is"):
		s = s[:len(s)-1]
	}
	for _, end := range []string{"ing", "ed", "ly"} {
		if rest, ok := strings.CutSuffix(s, end); ok && len(rest) >= 3 && strings.ContainsAny(rest, "aeiouy") {
			s = rest
			if n := len(s); s[n-1] == s[n-2] && !strings.ContainsRune("lsz", rune(s[n-1])) {
				s = s[:n-1]
			}
			break
		}
	}
	if len(s) > 3 {
		s = strings.TrimSuffix(s, "e")
	}
	return s
}
