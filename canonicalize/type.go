package canonicalize

// Type is the reading of one value: what counts as the same value in different spellings. Types are pure and safe for concurrent use.
type Type interface {
	// Canon appends the canonical JSON text of v to dst. args are all arguments of the call, for types that need a sibling
	// (money(currency)). The error is a *Error without a place: the caller knows where v stood. Canon of canon is canon: reading the
	// value that Canon wrote gives the same text again.
	Canon(dst []byte, v Value, args Value) ([]byte, error)
}

// Defaults are the settings that types without parameters of their own fall back to.
type Defaults struct {
	Zone     string // IANA name, for dates and instants without an offset; "" refuses them where one is needed
	Currency string // ISO 4217
	Region   string // ISO 3166-1 alpha-2, for phone numbers
}

// Error says why arguments cannot be read: where, what is wrong, and what would be right.
type Error struct {
	Place  string // JSON Pointer into the arguments, or "byte 17"; "" for the whole
	Field  string // the policy's field, where one is known
	Reason string // "is not a date"
	Remedy string // "write it as YYYY-MM-DD"
}

func (e *Error) Error() string {
	s := e.Reason
	if e.Place != "" {
		s = e.Place + ": " + s
	}
	if e.Field != "" {
		s = "field " + e.Field + ": " + s
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}
