package canonicalize

import "strconv"

type instantType struct{}

func newInstant(params []string, d Defaults) (Type, error) { return &instantType{}, nil }

func (t *instantType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a instant", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
