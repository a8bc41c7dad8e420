package canonicalize

import (
	"errors"
	"strings"
)

// ErrMissing is what errors.Is finds in the error of a key field that the call does not carry, of an absent task in scope `task`, and
// of an absent caller's key where that is the identity: the cases that a policy's `missing` is about. A field that is there but cannot
// be read, such as a blank id, is not missing.
var ErrMissing = errors.New("missing")

// Error says why arguments cannot be read: where, what is wrong, and what would be right.
type Error struct {
	Place  string // JSON Pointer into the arguments, or "byte 17"; "" for the whole
	Field  string // the policy's field, where one is known
	Reason string // "is not a date"
	Remedy string // "write it as YYYY-MM-DD"
	Err    error  // ErrMissing, or nil
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

// Unwrap makes errors.Is find ErrMissing.
func (e *Error) Unwrap() error { return e.Err }

// within puts the place of an error below a member or item. A place in bytes stays: it counts from the beginning of the text.
func within(e *Error, token string) *Error {
	if !strings.HasPrefix(e.Place, "byte ") {
		e.Place = "/" + escapeToken(token) + e.Place
	}
	return e
}

// asError turns the error of a type into an *Error of its own that may be changed.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		own := *e
		return &own
	}
	return &Error{Reason: err.Error()}
}
