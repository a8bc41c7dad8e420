package canonicalize

import "strconv"

type addressType struct{}

func newAddress(params []string, d Defaults) (Type, error) { return &addressType{}, nil }

func (t *addressType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, "a address", "")
	if err != nil {
		return nil, err
	}
	return strconv.AppendQuote(dst, s), nil
}
