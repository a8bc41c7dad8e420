package canonicalize

// boolType reads yes and no in their usual spellings.
type boolType struct{}

var truths = map[string]string{
	"true": "true", "t": "true", "yes": "true", "y": "true", "on": "true", "1": "true", "はい": "true", "真": "true",
	"false": "false", "f": "false", "no": "false", "n": "false", "off": "false", "0": "false", "いいえ": "false", "偽": "false",
}

func (boolType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	if v.Kind == Bool {
		return append(dst, v.Text...), nil
	}
	word := ""
	if v.Kind == Number || v.Kind == String {
		word = truths[foldWidth(trim(v.Text))]
	}
	if word == "" {
		return nil, &Error{Reason: "is neither true nor false", Remedy: "send true or false"}
	}
	return append(dst, word...), nil
}
