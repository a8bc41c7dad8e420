package canonicalize

// Kind is the JSON kind of a Value.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// Value is one JSON value as it was written: numbers keep their digits, members their order. The zero Value is null.
type Value struct {
	Kind    Kind
	Text    string // String: the decoded text. Number: its literal. Bool: "true" or "false"
	Items   []Value
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}
