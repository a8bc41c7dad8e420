package meaning

import (
	"slices"
	"strings"
)

// gates lists what differs exactly, in words for people. Texts that differ here are different, however alike they look.
func gates(a, b Text) []string {
	var out []string
	for k := range factKinds {
		x, y := factsOf(a.facts, k), factsOf(b.facts, k)
		if factsDiffer(k, x, y) {
			out = append(out, factNames[k]+": "+list(x)+" / "+list(y))
		}
	}
	if x, y := namesApart(a, b), namesApart(b, a); len(x) > 0 && len(y) > 0 {
		out = append(out, "names: "+strings.Join(x, ", ")+" / "+strings.Join(y, ", "))
	} else if reordered(a, b) {
		out = append(out, "order of names")
	}
	if a.negations != b.negations {
		out = append(out, "negation")
	}
	if p := opposite(a, b); p != "" {
		out = append(out, "opposite: "+p)
	}
	if turned(a, b) {
		out = append(out, "direction")
	}
	return out
}

// differing is gates without the words: whether anything differs exactly.
func differing(a, b Text) bool {
	if a.negations != b.negations {
		return true
	}
	for k := range factKinds {
		if factsDiffer(k, factsOf(a.facts, k), factsOf(b.facts, k)) {
			return true
		}
	}
	return len(namesApart(a, b)) > 0 && len(namesApart(b, a)) > 0 || reordered(a, b) || opposite(a, b) != "" || turned(a, b)
}

// factsOf is the part of sorted facts that is of kind k.
func factsOf(facts []fact, k factKind) []fact {
	i := 0
	for i < len(facts) && facts[i].kind < k {
		i++
	}
	j := i
	for j < len(facts) && facts[j].kind == k {
		j++
	}
	return facts[i:j]
}

func factsDiffer(k factKind, a, b []fact) bool {
	if k > soft && (len(a) == 0 || len(b) == 0) {
		return false
	}
	return !slices.Equal(a, b)
}

func list(facts []fact) string {
	if len(facts) == 0 {
		return "none"
	}
	out := make([]string, len(facts))
	for i, f := range facts {
		out[i] = f.value
	}
	return strings.Join(out, ", ")
}

// namesApart are a's names that b does not mention in any spelling. A name left out is no contradiction; one put in place of another is.
func namesApart(a, b Text) (out []string) {
	for _, n := range a.names {
		if !slices.Contains(b.names, n) && !slices.Contains(b.words, n) && !slices.Contains(b.stems, stem(n)) && !abbreviates(n, b) && !spelledOut(n, a, b) {
			out = append(out, n)
		}
	}
	return out
}

// reordered reports whether the same two or more names stand in another order, where they are not just listed: A pays B, B pays A.
func reordered(a, b Text) bool {
	if len(a.names) < 2 || len(a.names) != len(b.names) || a.listed || b.listed || slices.Equal(a.names, b.names) || len(a.words) > 15 {
		return false
	}
	x, y := slices.Clone(a.names), slices.Clone(b.names)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// opposite names the pair of words by which the texts say the contrary, or "".
func opposite(a, b Text) string {
	for i := 0; i < len(a.poles); i++ {
		axis := a.poles[i].axis
		x, wa := sides(a.poles, axis)
		y, wb := sides(b.poles, axis)
		if x|y == 3 && x&y == 0 {
			return wa + " / " + wb
		}
	}
	return negatedWord(a, b) + negatedWord(b, a)
}

// sides are the ends of an axis that a text mentions, as bits, and one of the words.
func sides(poles []pole, axis uint16) (bits uint8, word string) {
	for _, p := range poles {
		if p.axis == axis {
			bits |= 1 << p.side
			word = p.word
		}
	}
	return bits, word
}

// negatedWord finds a word of a that b has with a negating prefix only: paid / unpaid.
func negatedWord(a, b Text) string {
	for _, s := range b.stems {
		for _, prefix := range []string{"un", "dis", "de", "in", "im", "ir", "non", "mis"} {
			rest, ok := strings.CutPrefix(s, prefix)
			if ok && len(rest) >= 3 && slices.Contains(a.stems, rest) && !slices.Contains(b.stems, rest) && !slices.Contains(a.stems, s) {
				return rest + " / " + s
			}
		}
	}
	return ""
}

// turned reports whether what one text moves from somewhere the other moves to there.
func turned(a, b Text) bool {
	for _, x := range a.roles {
		for _, y := range b.roles {
			if x.to != y.to && x.head == y.head && !slices.Contains(b.roles, x) {
				return true
			}
		}
	}
	return false
}

// abbreviates reports whether a short name is the initials of words of t that follow each other: nyc, new york city.
func abbreviates(short string, t Text) bool {
	n := len(short)
	if n < 2 || n > 5 || n > len(t.words) {
		return false
	}
	for i := 0; i+n <= len(t.words); i++ {
		j := 0
		for j < n && t.words[i+j] != "" && t.words[i+j][0] == short[j] && len(t.words[i+j]) > 1 {
			j++
		}
		if j == n {
			return true
		}
	}
	return false
}

// spelledOut reports whether a name of a is part of words whose initials b has.
func spelledOut(name string, a, b Text) bool {
	for _, w := range b.words {
		n := len(w)
		if n < 2 || n > 5 || n > len(a.words) || slices.Contains(a.words, w) {
			continue
		}
		for i := 0; i+n <= len(a.words); i++ {
			if !slices.Contains(a.words[i:i+n], name) {
				continue
			}
			j := 0
			for j < n && a.words[i+j] != "" && a.words[i+j][0] == w[j] && len(a.words[i+j]) > 1 {
				j++
			}
			if j == n {
				return true
			}
		}
	}
	return false
}
