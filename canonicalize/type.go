package canonicalize

import (
	"slices"
	"strconv"
	"strings"
)

// Type is the reading of one value: what counts as the same value in different spellings. Types are pure and safe for concurrent use.
type Type interface {
	// Canon appends the canonical JSON text of v to dst. args are all arguments of the call, for types that need a sibling
	// (money(currency)). The error is a *Error without a place: the caller knows where v stood. Canon of canon is canon: reading the
	// value that Canon wrote gives the same text again.
	Canon(dst []byte, v Value, args Value) ([]byte, error)
}

// sibling is implemented by types that read another argument too: it is used by their field, and `must_match: all` leaves it out.
type sibling interface {
	siblings() []Path
}

// Defaults are the settings that types without parameters of their own fall back to.
type Defaults struct {
	Zone     string // IANA name, for dates and instants without an offset; "" refuses them where one is needed
	Currency string // ISO 4217
	Region   string // ISO 3166-1 alpha-2, for phone numbers
}

// makers is the registry: every type name of a policy, but for list and set, and who makes the type from its parameters. An error of a
// maker says what is wrong with the parameters.
var makers = map[string]func(params []string, d Defaults) (Type, error){
	"exact":   plain(exactType{}),
	"id":      plain(idType{}),
	"code":    newCode,
	"text":    newText,
	"meaning": plain(meaningType{}),
	"email":   newEmail,
	"url":     plain(urlType{}),
	"bool":    plain(boolType{}),
	"int":     plain(intType{}),
	"decimal": plain(decimalType{}),
	"enum":    newEnum,
	"json":    plain(jsonType{}),

	"address":  newAddress,
	"country":  newCountry,
	"date":     newDate,
	"duration": newDuration,
	"instant":  newInstant,
	"money":    newMoney,
	"month":    newMonth,
	"name":     newName,
	"phone":    newPhone,
	"quantity": newQuantity,
	"year":     newYear,

	"auto": newAuto,
}

// TypeNames lists the names that a type expression may use, sorted.
func TypeNames() []string {
	names := []string{"list", "set"}
	for name := range makers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ordered are the types whose values can be older and newer, for `newer`.
var ordered = []string{"int", "decimal", "instant", "date", "month", "year"}

// plain makes a type that takes no parameters.
func plain(t Type) func([]string, Defaults) (Type, error) {
	return func(params []string, _ Defaults) (Type, error) {
		if len(params) > 0 {
			return nil, &Error{Reason: "takes no parameters"}
		}
		return t, nil
	}
}

// compileType reads a type expression: name, name(param|param), list(type), set(type).
func compileType(expr string, d Defaults) (Type, error) {
	name, rest, hasParams := strings.Cut(strings.TrimSpace(expr), "(")
	name = strings.TrimSpace(name)
	if hasParams {
		inside, ok := strings.CutSuffix(rest, ")")
		if !ok {
			return nil, &Error{Reason: "type " + strconv.Quote(expr) + " lacks its closing bracket", Remedy: "write it as name(params)"}
		}
		rest = strings.TrimSpace(inside)
	}
	if strings.HasSuffix(name, "?") || strings.HasSuffix(rest, "?") {
		return nil, &Error{Reason: "a question mark stands inside type " + strconv.Quote(expr), Remedy: "write ? at the end of the whole type only"}
	}
	if name == "list" || name == "set" {
		return compileList(name == "set", rest, hasParams, d)
	}
	make, ok := makers[name]
	if !ok {
		return nil, unknownType(name)
	}
	var params []string
	if hasParams {
		for p := range strings.SplitSeq(rest, "|") {
			params = append(params, strings.TrimSpace(p))
		}
		if slices.Contains(params, "") {
			return nil, &Error{Reason: "type " + strconv.Quote(expr) + " has an empty parameter", Remedy: "leave out the brackets, or name it"}
		}
	}
	t, err := make(params, d)
	if err != nil {
		e := asError(err)
		e.Reason = "type " + strconv.Quote(expr) + " " + e.Reason
		return nil, e
	}
	return t, nil
}

func compileList(set bool, inner string, hasInner bool, d Defaults) (Type, error) {
	if !hasInner {
		return listType{of: jsonType{}, set: set}, nil
	}
	of, err := compileType(inner, d)
	if err != nil {
		return nil, err
	}
	if _, ok := of.(meaningType); ok {
		return nil, &Error{Reason: "a list of `meaning` cannot be compared", Remedy: "declare list(text(fold)), or one field of type meaning"}
	}
	return listType{of: of, set: set}, nil
}

func unknownType(name string) *Error {
	e := &Error{Reason: "there is no type " + strconv.Quote(name)}
	if near := Nearest(name, TypeNames()); near != "" {
		e.Remedy = "did you mean " + near + "?"
	} else {
		e.Remedy = "the types are " + strings.Join(TypeNames(), ", ")
	}
	return e
}
