// Package canonicalize answers "Is this the same operation?": it reads a call's arguments strictly and turns them, by a spec of typed
// fields, into an operation with a stable key.
package canonicalize

// Spec is a compiled reading: which arguments are identity, which must match, and where the entity, lock and list of elements stand.
type Spec struct {
	Key      []*Field
	Match    []*Field
	MatchAll bool   // `must_match: all`: every argument not in Key, as json
	Entity   string // the entity's type; "" without one
	EntityBy []*Field
	Lock     []*Field
	Newer    *Field
	Each     *Path // the list whose elements are effects; nil without
}
