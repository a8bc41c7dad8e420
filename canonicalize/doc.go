// Package canonicalize answers "Is this the same operation?": it reads a call's arguments strictly and turns them, by a spec of typed
// fields, into an operation with a stable key.
package canonicalize
