package canonicalize

import "strconv"

type nameType struct{}

func newName(params []string, d Defaults) (Type, error) { return &nameType{}, nil }

func (t *nameType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a name", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
