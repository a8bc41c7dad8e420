// Package agentgw holds the nouns that the other packages share: a Call asks for an Operation, the Operation has an identity, the
// ledger remembers an Effect under it, policy makes a Decision, and an attempt ends in an Outcome.
//
// The verbs are the folders. canonicalize answers "Is this the same operation?", policy "May it happen (again)?", ledger "Has it
// happened?", and gateway carries a call through the three questions and, if the answers allow, to the tool.
//
// Nothing here does I/O or reads a clock.
package agentgw
