package policy

import (
	"slices"
	"strings"
	"unicode"

	"agentgw"
	"agentgw/canonicalize"
)

// toolKind is what a tool does, as far as its name and description tell.
type toolKind struct {
	verb    string
	read    bool
	set     bool // puts a value that a repeat would put again
	make    bool // brings something into being
	move    bool // changes the state of something
	message bool // says something to somebody
	money   bool
	later   bool // something is planned for a day that the caller chooses
	effects []string
}

// Verbs at the beginning of tool names, by what they do.
var (
	readVerbs = wordSet(`get list search find fetch read view show check lookup look query calculate compute count describe retrieve browse display estimate compare
		analyze analyse predict convert translate summarize validate verify test inspect explain identify detect evaluate determine recommend track preview
		solve sort filter classify extract parse query`)
	otherVerbs = wordSet(`update modify change edit rename move copy play execute run launch write replace assign exchange control configure install reset lock unlock press connect
		store push merge commit sync import export train fill put apply grant customize control navigate reschedule`)
	setVerbs     = wordSet(`set toggle enable disable mute unmute adjust turn`)
	messageVerbs = wordSet(`send post reply forward notify message tweet comment publish broadcast mail email text announce share retweet respond contact escalate transfer_to handover`)
	moneyNames   = wordSet(`pay payment payments money transfer charge refund withdraw withdrawal deposit purchase buy invoice payout remit transaction transactions donate tip fund funds certificate`)
	moveVerbs    = wordSet(`cancel approve reject close complete resolve return refund start stop archive ship confirm delete remove drop revoke reopen finish end terminate accept decline void activate deactivate`)
	makeVerbs    = wordSet(`create add book reserve buy purchase order place schedule register submit upload make generate invite insert append new open issue request record log save`)
	laterWords   = wordSet(`schedule scheduled reserve book booking reservation recurring appointment event alarm reminder trip`)
)

func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// kindOfTool reads the last part of the name first: its verb is the most reliable word a tool has. The description decides where the name
// has none, and whether a name that seems to read does: "get" of get_train_tickets buys.
func kindOfTool(t ToolFacts, schema *canonicalize.Schema) toolKind {
	last := t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	if method, path, _ := strings.Cut(t.Route, " "); t.Route != "" && t.Name == t.Route {
		last = methodVerbs[method] + "_" + path
	}
	name := canonicalize.Property{Name: last}.Words()
	about := wordsOf(firstSentence(t.Description))
	k := toolKind{}
	k.verb = firstVerb(name, anyVerb)
	said := statedVerbs(about)
	if k.verb == "" {
		k.verb = firstVerb(said, anyVerb)
	}
	k.read = t.ReadOnly || readVerbs[k.verb] && !t.Destructive && firstVerb(said, writes) == ""
	k.set, k.message, k.make, k.move = setVerbs[k.verb], messageVerbs[k.verb], makeVerbs[k.verb], moveVerbs[k.verb]
	for _, w := range slices.Concat(canonicalize.Property{Name: t.Name}.Words(), about) {
		k.money = k.money || moneyNames[w]
		k.later = k.later || laterWords[w]
		k.mention(w)
	}
	if k.money && !k.read && hasAmount(schema) {
		k.effect("payment")
	}
	slices.Sort(k.effects)
	return k
}

// methodVerbs are what HTTP methods say where nothing else names an operation. POST says nothing.
var methodVerbs = map[string]string{"PUT": "put", "PATCH": "update", "DELETE": "delete"}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// statedVerbs are the words of a description that stand where verbs stand: at its beginning, and behind "and", "then" or "to". Elsewhere "contact"
// and "order" are things.
func statedVerbs(words []string) (out []string) {
	for i, w := range words {
		if i == 0 || i == 1 && (words[0] == "this" || words[0] == "it" || words[0] == "tool" || words[0] == "function") {
			out = append(out, w)
			continue
		}
		switch words[i-1] {
		case "and", "then", "to", "or", "function", "tool", "api":
			out = append(out, w)
		}
	}
	return out
}

// firstVerb is the first of some words that is a verb of a kind, in its base form.
func firstVerb(words []string, is func(string) bool) string {
	for _, w := range words {
		for _, form := range []string{w, strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es"), strings.TrimSuffix(w, "d"), strings.TrimSuffix(w, "ed"), strings.TrimSuffix(w, "ing"), strings.TrimSuffix(w, "ing") + "e"} {
			if is(form) {
				return form
			}
		}
	}
	return ""
}

func anyVerb(w string) bool { return readVerbs[w] || writes(w) }

func writes(w string) bool {
	return setVerbs[w] || messageVerbs[w] || moveVerbs[w] || makeVerbs[w] || otherVerbs[w]
}

// mention collects side effects from the words of name and description.
func (k *toolKind) mention(w string) {
	switch w {
	case "email", "emails", "mail":
		k.effect("email")
	case "message", "messages", "tweet", "sms", "notification", "comment", "chat":
		k.effect("message")
	case "invoice", "invoices":
		k.effect("invoice")
	case "order", "orders", "purchase", "buy", "book", "booking", "reservation", "reserve", "ticket", "tickets":
		if k.make {
			k.effect("order")
		}
	case "payment", "pay", "refund", "charge":
		k.effect("payment")
	}
}

// updates reports whether the tool changes a part of something that is there.
func (k toolKind) updates() bool {
	switch k.verb {
	case "update", "modify", "change", "edit", "replace", "rename", "adjust", "assign", "configure", "reschedule":
		return true
	}
	return k.set
}

func (k *toolKind) effect(name string) {
	if !slices.Contains(k.effects, name) {
		k.effects = append(k.effects, name)
	}
}

func (k toolKind) sideEffects() []string {
	if k.set {
		return nil
	}
	return k.effects
}

func hasAmount(s *canonicalize.Schema) bool {
	return slices.ContainsFunc(s.Properties, isAmount)
}

func isAmount(p canonicalize.Property) bool {
	if p.Kind != "number" && p.Kind != "integer" {
		return false
	}
	return slices.ContainsFunc(p.Words(), func(w string) bool {
		return w == "amount" || w == "price" || w == "total" || w == "cost" || w == "sum" || w == "金額"
	})
}

// pattern proposes how repeats are prevented, and says why. overwrite is proposed only where a repeat does nothing to the world: a setter
// without side effects, or a tool that says so itself.
func (k toolKind) pattern(t ToolFacts) (agentgw.Pattern, string) {
	switch {
	case k.read && t.ReadOnly:
		return agentgw.Read, "the tool says that it only reads"
	case k.read:
		return agentgw.Read, "its name says that it only reads (" + k.verb + "); sign this only if that is so"
	case t.Destructive:
		return agentgw.Once, "the tool says that it destroys: late and a second time it may destroy what has come since"
	case t.Idempotent && len(k.effects) == 0:
		return agentgw.Overwrite, "the tool says that a repeat changes nothing"
	case k.set && len(k.effects) == 0 && !k.money:
		return agentgw.Overwrite, "it sets a value (" + k.verb + "): a repeat sets it again, to no harm"
	case k.updates():
		return agentgw.Once, "it changes something that is there (" + k.verb + "); where a repeat does no harm at all, pattern overwrite lets it through"
	case k.message:
		return agentgw.Once, "it tells somebody something: twice is noticed"
	case k.move:
		return agentgw.Once, "it moves something to another state (" + k.verb + "); with the states known, pattern transition is stricter"
	case k.make:
		return agentgw.Once, "it brings something into being (" + k.verb + "): twice makes two"
	}
	return agentgw.Once, "what it does is not known: once " + t.within()
}
